-- Definitions, rows, transactions and errors of a small shop.
CREATE DATABASE shop; USE shop;
CREATE TABLE author (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(100) NOT NULL, born DATE,
  UNIQUE KEY by_name (name), CONSTRAINT named CHECK (name <> '')) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE book (id BIGINT AUTO_INCREMENT PRIMARY KEY, author INT UNSIGNED NOT NULL, title VARCHAR(200) COMMENT 'as printed',
  price DECIMAL(10,2) DEFAULT '9.99', kind ENUM('a','b','it''s') DEFAULT 'a', tags SET('x','y'), meta JSON,
  added TIMESTAMP DEFAULT '2024-01-02 03:04:05' ON UPDATE CURRENT_TIMESTAMP, twice DECIMAL(11,2) AS (price * 2) VIRTUAL,
  KEY (author), KEY by_title (title(20)),
  CONSTRAINT book_author FOREIGN KEY (author) REFERENCES author (id) ON DELETE CASCADE);
SHOW TABLES;
DESCRIBE book;
SHOW FULL COLUMNS FROM book;
SHOW INDEX FROM book;
SHOW CREATE TABLE book\G

INSERT INTO author (name, born) VALUES ('Ann', '1970-01-01'), ('Bob', NULL);
INSERT INTO book (author, title, price, kind, tags, meta) VALUES (1, 'One', 1.5, 'b', 'x,y', '{"a":[1,2]}'), (2, 'Tw\'o', NULL, DEFAULT, NULL, NULL);
SELECT ROW_COUNT(), LAST_INSERT_ID();
SELECT * FROM book ORDER BY id\G
SELECT meta->'$.a[1]', meta->>'$.a', kind + 0, HEX(title), price * 3 FROM book WHERE id = 1;

BEGIN;
UPDATE book SET price = price + 1;
SAVEPOINT a;
DELETE FROM book;
SELECT COUNT(*) FROM book;
ROLLBACK TO a;
SELECT COUNT(*) FROM book;
ROLLBACK;
SELECT price FROM book;
START TRANSACTION READ ONLY;
INSERT INTO author (name) VALUES ('x');
COMMIT;

INSERT INTO author (name) VALUES ('Ann');
INSERT INTO book (author) VALUES (99);
INSERT INTO author (name) VALUES ('');
INSERT INTO book (author, kind) VALUES (1, 'z');
INSERT INTO author (name) VALUES (NULL);
SELECT * FROM nope;
SELECT nope FROM book;
SELEC 1;
SELECT * FROM nope.nope;
DROP TABLE author;
CREATE TABLE book (a INT);
SELECT (SELECT id FROM book);

REPLACE INTO author (id, name) VALUES (2, 'Bobby');
INSERT INTO author (id, name) VALUES (2, 'B') ON DUPLICATE KEY UPDATE name = CONCAT(VALUES(name), 'x');
INSERT IGNORE INTO author (name) VALUES ('Ann');
SELECT id, name FROM author ORDER BY id;

ALTER TABLE book ADD COLUMN pages INT AFTER title, ADD INDEX p (pages);
ALTER TABLE book DROP COLUMN pages, ALTER COLUMN price SET DEFAULT 5;
RENAME TABLE book TO books;
SHOW INDEX FROM books;
CREATE VIEW titles AS SELECT title, name FROM books JOIN author ON author.id = books.author;
SELECT * FROM titles;
SHOW FULL TABLES;
PREPARE s FROM 'SELECT ? + 1 AS n'; SET @a = 5; EXECUTE s USING @a; DEALLOCATE PREPARE s;
EXECUTE s;
CHECK TABLE books; ANALYZE TABLE books;
LOCK TABLES books WRITE; UNLOCK TABLES;

DELIMITER //
CREATE PROCEDURE total(OUT n INT) BEGIN SELECT COUNT(*) INTO n FROM author; END//
CREATE TRIGGER loud BEFORE INSERT ON author FOR EACH ROW BEGIN SET NEW.name = UPPER(NEW.name); END//
DELIMITER ;
INSERT INTO author (name) VALUES ('zoe');
CALL total(@n); SELECT @n;
SELECT name FROM author WHERE id = LAST_INSERT_ID();

SELECT 'äö€😀' AS a, _utf8mb4'x' COLLATE utf8mb4_bin AS b, x'4142' AS c, b'101' + 0 AS d, NULL AS e, 0.1 + 0.2 AS f, 1e100 AS g, TRUE AS h;
SELECT SQL_CALC_FOUND_ROWS id FROM books LIMIT 1; SELECT FOUND_ROWS();
SHOW VARIABLES LIKE 'innodb_buffer_pool_dump%';
SHOW CREATE DATABASE shop;
SHOW COUNT(*) WARNINGS;
TRUNCATE TABLE books;
SELECT COUNT(*) FROM books;
DROP DATABASE shop;
