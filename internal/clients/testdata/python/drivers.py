"""PyMySQL and MySQL's own connector: what an ORM does not use of them."""

import datetime
import os

import mysql.connector
import pymysql

at = dict(host=os.environ["HEARTH_HOST"], port=int(os.environ["HEARTH_PORT"]), user="root")


def equal(got, want):
    assert got == want, f"got {got!r}, want {want!r}"


def check_pymysql():
    c = pymysql.connect(**at, client_flag=pymysql.constants.CLIENT.MULTI_STATEMENTS)
    with c.cursor() as q:
        q.execute("CREATE DATABASE py; USE py; CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(20), b BIT(9), c TIME(3))")
        while q.nextset():
            pass
        equal(q.executemany("INSERT INTO t (a) VALUES (%s)", [(f"{i}'\\\n\0é\U0001f600",) for i in range(100)]), 100)
        equal(q.lastrowid, 1)
        equal(q.execute("SELECT a FROM t WHERE id = %s", (7,)), 1)
        equal(q.fetchone(), ("6'\\\n\0é\U0001f600",))
        q.execute("SELECT 1; SELECT 2 FROM t LIMIT 2; UPDATE t SET a = 'x' WHERE id < 3")
        equal(q.fetchall(), ((1,),))
        assert q.nextset()
        equal(q.fetchall(), ((2,), (2,)))
        assert q.nextset()
        equal(q.rowcount, 2)
        q.execute("UPDATE t SET b = 257, c = '-12:34:56.789' WHERE id = 1")
        q.execute("SELECT b, c FROM t WHERE id = 1")
        equal(q.fetchone(), (b"\x01\x01", -datetime.timedelta(hours=12, minutes=34, seconds=56.789)))
        c.rollback()
        equal(q.execute("SELECT * FROM t"), 0)
    with c.cursor(pymysql.cursors.SSDictCursor) as q:
        q.execute("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 900) SELECT n FROM r")
        equal(sum(r["n"] for r in q), 900 * 901 // 2)
    with c.cursor() as q:
        q.execute("SET SESSION max_execution_time = 0")
        try:
            q.execute("SELECT * FROM nope")
            raise AssertionError("no error")
        except pymysql.err.ProgrammingError as e:
            equal(e.args[0], 1146)
    c.ping()
    c.select_db("information_schema")
    c.close()


def check_connector():
    c = mysql.connector.connect(**at, database="py", autocommit=True)
    q = c.cursor(prepared=True)
    for i in range(3):
        q.execute("INSERT INTO t (a, c) VALUES (%s, %s)", (f"p{i}", datetime.timedelta(seconds=i)))
    q.execute("SELECT a, b, c FROM t WHERE a LIKE %s ORDER BY id", ("p%",))
    equal(q.fetchall(), [(f"p{i}", None, datetime.timedelta(seconds=i)) for i in range(3)])
    q.close()
    q = c.cursor(dictionary=True)
    q.execute("SELECT COUNT(*) AS n, @@autocommit AS auto FROM t")
    equal(q.fetchall(), [{"n": 3, "auto": 1}])
    q.close()
    c.start_transaction(isolation_level="READ COMMITTED")
    assert c.in_transaction
    c.rollback()
    assert not c.in_transaction
    c.cmd_reset_connection()
    c.cmd_change_user("root", "", "py")
    equal(c.database, "py")
    c.close()


check_pymysql()
check_connector()
