"""SQLAlchemy 2 makes a schema, reflects it, writes, reads, fails and migrates. Its argument is the driver."""

import datetime
import decimal
import enum
import os
import sys

import sqlalchemy as sa
from sqlalchemy import exc, orm, text
from sqlalchemy.dialects import mysql

driver = sys.argv[1]
server = f"mysql+{driver}://root@{os.environ['HEARTH_HOST']}:{os.environ['HEARTH_PORT']}/"
database = f"orm_{driver}"


class Base(orm.DeclarativeBase):
    pass


class Color(enum.Enum):
    red = "red"
    green = "green"


class Author(Base):
    __tablename__ = "author"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.String(100), unique=True)
    born: orm.Mapped[datetime.date | None]
    books: orm.Mapped[list["Book"]] = orm.relationship(back_populates="author", cascade="all, delete-orphan")


class Book(Base):
    __tablename__ = "book"
    __table_args__ = (
        sa.UniqueConstraint("author_id", "title", name="one_title"),
        sa.Index("by_price", "price"),
        sa.Index("by_body", "body", mysql_length=20),
        sa.CheckConstraint("price >= 0", name="price_ok"),
        {"comment": "what it's about", "mysql_engine": "InnoDB", "mysql_charset": "utf8mb4"},
    )
    id: orm.Mapped[int] = orm.mapped_column(sa.BigInteger, primary_key=True)
    author_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("author.id", ondelete="CASCADE", name="book_author"))
    title: orm.Mapped[str] = orm.mapped_column(sa.String(200), comment="as printed")
    price: orm.Mapped[decimal.Decimal] = orm.mapped_column(sa.Numeric(10, 2), server_default="9.99")
    color: orm.Mapped[Color] = orm.mapped_column(sa.Enum(Color), server_default="red")
    meta: orm.Mapped[dict | None] = orm.mapped_column(sa.JSON)
    body: orm.Mapped[str | None] = orm.mapped_column(sa.Text)
    cover: orm.Mapped[bytes | None] = orm.mapped_column(sa.LargeBinary)
    at: orm.Mapped[datetime.datetime | None] = orm.mapped_column(mysql.DATETIME(fsp=6))
    added: orm.Mapped[datetime.datetime] = orm.mapped_column(sa.TIMESTAMP, server_default=text("CURRENT_TIMESTAMP"))
    live: orm.Mapped[bool] = orm.mapped_column(default=True)
    score: orm.Mapped[float | None]
    author: orm.Mapped[Author] = orm.relationship(back_populates="books")


def equal(got, want):
    assert got == want, f"got {got!r}, want {want!r}"


def fails(error, code, do):
    try:
        do()
    except error as e:
        equal(getattr(e.orig, "errno", e.orig.args[0]), code)
        return
    raise AssertionError(f"no {error}, want {code}")


def check_reflection(engine):
    i = sa.inspect(engine)
    equal(i.get_table_names(), ["author", "book"])
    equal(i.get_pk_constraint("book")["constrained_columns"], ["id"])
    equal(i.get_table_comment("book")["text"], "what it's about")
    columns = {c["name"]: c for c in i.get_columns("book")}
    equal(
        {n: c["type"].compile(engine.dialect) for n, c in columns.items()},
        {
            "id": "BIGINT", "author_id": "INTEGER", "title": "VARCHAR(200)", "price": "DECIMAL(10, 2)",
            "color": "ENUM('red','green')", "meta": "JSON", "body": "TEXT", "cover": "BLOB", "at": "DATETIME(6)",
            "added": "TIMESTAMP", "live": "TINYINT(1)", "score": "DOUBLE",
        },
    )
    equal([n for n, c in columns.items() if c["nullable"]], ["meta", "body", "cover", "at", "score"])
    equal(columns["price"]["default"], "'9.99'")
    equal(columns["title"]["comment"], "as printed")
    (f,) = i.get_foreign_keys("book")
    equal(
        (f["name"], f["constrained_columns"], f["referred_table"], f["referred_columns"], f["options"]),
        ("book_author", ["author_id"], "author", ["id"], {"ondelete": "CASCADE"}),
    )
    equal(
        sorted((x["name"], tuple(x["column_names"]), x["unique"]) for x in i.get_indexes("book")),
        [("by_body", ("body",), False), ("by_price", ("price",), False), ("one_title", ("author_id", "title"), True)],
    )
    equal([c["name"] for c in i.get_check_constraints("book")], ["price_ok"])
    m = sa.MetaData()
    m.reflect(engine)
    with engine.begin() as c:  # what was reflected can be made again
        c.execute(text("DROP TABLE book, author"))
    m.create_all(engine)
    equal(len(sa.inspect(engine).get_foreign_keys("book")), 1)


def check_rows(engine):
    at = datetime.datetime(2024, 1, 2, 3, 4, 5, 678901)
    one = dict(price=decimal.Decimal("1.50"), meta={"a": [1, "ü"]}, cover=b"\0\xff'", at=at, score=0.1, color=Color.green)
    with orm.Session(engine) as s:
        ann = Author(name="Ann", born=datetime.date(1970, 1, 1), books=[Book(title="One", **one), Book(title="Two")])
        s.add(ann)
        s.commit()
        got = s.scalars(sa.select(Book).where(Book.title == "One")).one()
        equal({k: getattr(got, k) for k in one}, one)
        equal((got.live, got.body), (True, None))
        equal(s.scalars(sa.select(Book.price).where(Book.title == "Two")).one(), decimal.Decimal("9.99"))
        got.price += 1
        s.commit()
        equal(got.price, decimal.Decimal("2.50"))

        def add(x):
            def do():
                with s.begin_nested():
                    s.add(x)
                    s.flush()
            return do

        fails(exc.IntegrityError, 1062, add(Author(name="Ann")))
        fails(exc.IntegrityError, 1452, add(Book(title="x", author_id=77)))
        fails(exc.DBAPIError, 3819, add(Book(title="x", author_id=ann.id, price=-1)))
        with s.begin_nested() as n:
            s.add(Author(name="nested"))
            s.flush()
            n.rollback()
        s.commit()
        for load in (orm.selectinload, orm.joinedload, orm.subqueryload):
            found = s.scalars(sa.select(Author).options(load(Author.books))).unique().all()
            equal([(a.name, sorted(b.title for b in a.books)) for a in found], [("Ann", ["One", "Two"])])
        equal(s.scalar(sa.select(Book.meta["a"][1].as_string()).where(Book.title == "One")), "ü")
        totals = sa.select(Author.name, sa.func.count(), sa.func.sum(Book.price)).join(Book).group_by(Author.name)
        ((name, n, total),) = s.execute(totals.having(sa.func.count() > 1))
        equal((name, n, round(decimal.Decimal(total), 2)), ("Ann", 2, decimal.Decimal("12.49")))  # a float here, a Decimal with MySQL
        rank = sa.func.row_number().over(partition_by=Book.author_id, order_by=Book.id.desc())
        equal(sorted(tuple(r) for r in s.execute(sa.select(Book.title, rank))), [("One", 2), ("Two", 1)])
        new = mysql.insert(Author).values([{"name": "Ann", "born": datetime.date(1980, 1, 1)}, {"name": "Cy", "born": None}])
        s.execute(new.on_duplicate_key_update(born=new.inserted.born))
        s.commit()
        born = sa.select(Author.name, Author.born).order_by(Author.name)
        equal([tuple(r) for r in s.execute(born)], [("Ann", datetime.date(1980, 1, 1)), ("Cy", None)])
        for lock in ({}, {"skip_locked": True}, {"nowait": True}, {"read": True}):
            equal(len(s.scalars(sa.select(Author).with_for_update(**lock)).all()), 2)
        s.commit()
        mine = sa.select(Author.id).where(Author.name == "Ann").scalar_subquery()
        equal(s.execute(sa.update(Book).where(Book.author_id == mine).values(score=2)).rowcount, 2)
        s.commit()
        s.add_all(Author(name=f"many {i}") for i in range(1000))
        s.commit()
        equal(s.scalar(sa.select(sa.func.count()).select_from(Author)), 1002)
        s.delete(ann)
        s.commit()
        equal(s.scalar(sa.select(sa.func.count()).select_from(Book)), 0)
    for level in ("READ COMMITTED", "REPEATABLE READ"):
        with engine.connect().execution_options(isolation_level=level) as c:
            equal(c.get_isolation_level(), level)
            equal(c.scalar(text("SELECT COUNT(*) FROM book")), 0)


# As Alembic writes them.
MIGRATION = [
    "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))",
    "INSERT INTO alembic_version (version_num) VALUES ('1975ea83b712')",
    "UPDATE alembic_version SET version_num='27c6a30d7c24' WHERE alembic_version.version_num = '1975ea83b712'",
    "ALTER TABLE book ADD COLUMN isbn VARCHAR(20)",
    "ALTER TABLE book ADD COLUMN pages INTEGER DEFAULT '3' NOT NULL AFTER title",
    "ALTER TABLE book MODIFY isbn VARCHAR(30) NOT NULL DEFAULT ''",
    "ALTER TABLE book CHANGE isbn isbn13 VARCHAR(30) NULL",
    "CREATE UNIQUE INDEX ix_isbn ON book (isbn13)",
    "DROP INDEX ix_isbn ON book",
    "ALTER TABLE book DROP FOREIGN KEY book_author",
    "ALTER TABLE book ADD CONSTRAINT author_book FOREIGN KEY(author_id) REFERENCES author (id) ON DELETE RESTRICT",
    "ALTER TABLE book ADD CONSTRAINT pages_ok CHECK (pages > 0)",
    "ALTER TABLE book DROP CHECK pages_ok",
    "ALTER TABLE book DROP COLUMN pages",
    "ALTER TABLE book ALTER COLUMN price SET DEFAULT '5.00'",
    "ALTER TABLE book ALTER COLUMN price DROP DEFAULT",
    "ALTER TABLE book COMMENT 'other'",
    "ALTER TABLE author RENAME TO writer",
    "ALTER TABLE writer RENAME COLUMN born TO birth",
    "ALTER TABLE book RENAME INDEX by_price TO by_cost, ADD INDEX by_score (score)",
    "ALTER TABLE book CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
]


def check_migration(engine):
    with engine.begin() as c:
        for statement in MIGRATION:
            c.execute(text(statement))
    i = sa.inspect(engine)
    equal(i.get_table_names(), ["alembic_version", "book", "writer"])
    equal([c["name"] for c in i.get_columns("writer")], ["id", "name", "birth"])
    equal([c["name"] for c in i.get_columns("book")][-1], "isbn13")
    (f,) = i.get_foreign_keys("book")
    equal((f["name"], f["referred_table"]), ("author_book", "writer"))
    # MySQL drops the index that it made for a foreign key, book_author, when another one is made that serves it.
    equal({x["name"] for x in i.get_indexes("book")} - {"book_author"}, {"by_body", "by_cost", "by_score", "one_title"})


root = sa.create_engine(server)
with root.begin() as c:
    c.execute(text(f"CREATE DATABASE {database}"))
engine = sa.create_engine(server + database, pool_pre_ping=True)
Base.metadata.create_all(engine)
Base.metadata.create_all(engine)  # finds them there
check_reflection(engine)
check_rows(engine)
check_migration(engine)
with root.begin() as c:
    c.execute(text(f"DROP DATABASE {database}"))
