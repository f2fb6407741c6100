-- A database with everything that a dump of MariaDB 10.11 can hold and hearth has a counterpart of. TestRoundTrip loads it into
-- MariaDB and dumps it from there. What is not here, and why, is in docs/compatibility.md.

SET NAMES utf8mb4 COLLATE utf8mb4_general_ci;
SET sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION';
SET time_zone = '+00:00';

CREATE TABLE integers (
  id int NOT NULL AUTO_INCREMENT,
  t tinyint, tu tinyint unsigned, s smallint, su smallint unsigned, m mediumint, mu mediumint unsigned,
  i int(11) DEFAULT -7, iu int(10) unsigned, b bigint DEFAULT -9223372036854775808, bu bigint unsigned DEFAULT 18446744073709551615,
  yes tinyint(1) NOT NULL DEFAULT 1,
  PRIMARY KEY (id), KEY (bu), UNIQUE KEY low (t, tu, s)
) ENGINE=InnoDB AUTO_INCREMENT=100 DEFAULT CHARSET=utf8mb4;
INSERT INTO integers VALUES
  (1, -128, 0, -32768, 0, -8388608, 0, -2147483648, 0, -9223372036854775808, 0, 0),
  (2, 127, 255, 32767, 65535, 8388607, 16777215, 2147483647, 4294967295, 9223372036854775807, 18446744073709551615, 1),
  (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1),
  (4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
  (-5, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, 1);

CREATE TABLE numbers (
  d1 decimal(1,0), d10 decimal(10,2) NOT NULL DEFAULT 3.14, d65 decimal(65,30), d38 decimal(38,0), du decimal(12,4) unsigned,
  f float, g double, fu float unsigned, gu double unsigned, fp float(7,3), gp double(15,5), -- of which hearth keeps six digits, and all
  b1 bit(1) DEFAULT b'1', b8 bit(8), b17 bit(17) DEFAULT b'10101', b64 bit(64),
  KEY (d65), KEY (g), KEY (b64)
);
INSERT INTO numbers VALUES
  (9, 99999999.99, 99999999999999999999999999999999999.999999999999999999999999999999, 99999999999999999999999999999999999999, 99999999.9999,
   3.40282e38, 1.7976931348623157e308, 1.17549e-38, 2.2250738585072014e-308, 1234.5, 1234567890.12345, b'1', b'11111111', b'11111111111111111', b'1111111111111111111111111111111111111111111111111111111111111111'),
  (-9, -99999999.99, -99999999999999999999999999999999999.999999999999999999999999999999, -99999999999999999999999999999999999999, 0,
   -3.40282e38, -1.7976931348623157e308, 0, 0, -1234.5, -1234567890.12345, b'0', b'0', b'0', b'0'),
  (0, 0.01, 0.000000000000000000000000000001, 1, 0.0001, 0.1, 0.1, 16777216, 9007199254740993, 0.001, 0.00001, b'1', b'100111', b'1011100', b'1'),
  (NULL, -0.01, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (1, 2, 3, 4, 5, 1e-10, 123456789.123456789, 33554432, 0.30000000000000004, 7, 8, b'1', b'1', b'1', b'1000000000000000000000000000000000000000000000000000000000000000');

CREATE TABLE texts (
  id bigint unsigned NOT NULL,
  c char(10) NOT NULL DEFAULT 'O''Brien',
  c0 char(0),
  v varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci DEFAULT 'back\\slash',
  vb varchar(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  v3 varchar(50) CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci,
  l1 varchar(50) CHARACTER SET latin1 COLLATE latin1_swedish_ci,
  l1b varchar(50) CHARACTER SET latin1 COLLATE latin1_bin,
  a varchar(50) CHARACTER SET ascii COLLATE ascii_general_ci,
  de varchar(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_german2_ci,
  v520 varchar(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci,
  u16 varchar(20) CHARACTER SET utf16 COLLATE utf16_general_ci,
  bi binary(4), vbi varbinary(300),
  tt tinytext, t text, mt mediumtext, lt longtext,
  tb tinyblob, b blob, mb mediumblob, lb longblob,
  PRIMARY KEY (id), KEY prefix (t(20), v), KEY v3 (v3, l1 DESC), UNIQUE KEY (vb), KEY (b(7)), KEY (vbi)
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci COMMENT='quotes '' " ` and \\ and ünïcode 🍀';
INSERT INTO texts VALUES
  (1, 'plain', '', 'v', 'vb', 'v3', 'l1', 'l1b', 'a', 'de', '520', 'u16', 'bi', 'vbi', 'tt', 't', 'mt', 'lt', 'tb', 'b', 'mb', 'lb'),
  (2, '', NULL, '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', ''),
  (3, 'NULL', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (4, '🍀🐘é', '', '日本語 🇩🇪 👩‍👩‍👧', 'ß ẞ ſ', 'ünïcödé ﬁ', 'Ünicode é ß', 'ÿ', 'ascii ~', 'Straße Äpfel', 'ǅ', '🍀u', x'00ff0a0d', x'00010203ff5c27221a0a0d09', 'tt\ttab', 'line\nline\r\nline', 'ctrl-Z \Z zero \0 .', '''"`\\%_\\%', x'00', x'0027005c', x'efbbbf', x'c328'),
  (5, 'O''Brien', '', '\\', '''', '"', '`', ';', '--', '/* no */', '# no', '\\N', x'27', x'5c', 'it''s', 'say "hi"', '\\n is no newline', '\\\\', x'5c5c', x'2727', x'0a', x'1a'),
  (18446744073709551615, 'max', '', REPEAT('x', 255), REPEAT('🍀', 100), REPEAT('é', 50), REPEAT('é', 25), 'b', REPEAT('~', 50), REPEAT('ä', 50), REPEAT('z', 50), REPEAT('🍀', 20), x'ffffffff', REPEAT(x'00', 300), REPEAT('t', 255), REPEAT('0123456789', 6000), REPEAT('m', 70000), REPEAT('long ', 100000), REPEAT(x'ff', 255), REPEAT(x'00', 60000), REPEAT(x'5c', 70000), REPEAT(x'27', 200000));

CREATE TABLE choices (
  e enum('small','it''s','','ÄÖ','comma,x','back\\slash') NOT NULL DEFAULT 'it''s',
  en enum('a','b') CHARACTER SET latin1 DEFAULT NULL,
  s set('r','w','x','ex''ec') NOT NULL DEFAULT 'r,w',
  s64 set('01','02','03','04','05','06','07','08','09','10','11','12','13','14','15','16','17','18','19','20','21','22','23','24','25','26','27','28','29','30','31','32','33','34','35','36','37','38','39','40','41','42','43','44','45','46','47','48','49','50','51','52','53','54','55','56','57','58','59','60','61','62','63','64'),
  KEY (e, s)
);
INSERT INTO choices VALUES ('small', 'a', '', NULL), ('it''s', NULL, 'r,x', ''), ('', 'b', 'r,w,x,ex''ec', '01,64'), ('ÄÖ', 'a', 'ex''ec', '64'),
  ('comma,x', 'b', 'w', '01,02,03,04,05,06,07,08,09,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64'),
  ('back\\slash', NULL, '', '32');

CREATE TABLE times (
  d date, t time, t3 time(3), t6 time(6), dt datetime, dt3 datetime(3), dt6 datetime(6),
  ts timestamp NULL DEFAULT NULL, ts6 timestamp(6) NOT NULL DEFAULT current_timestamp(6) ON UPDATE current_timestamp(6),
  made datetime DEFAULT current_timestamp(), y year,
  KEY (dt6), KEY (t6), KEY (y), KEY (d, ts)
);
INSERT INTO times VALUES
  ('1000-01-01', '-838:59:59', '-838:59:59', '-838:59:59', '1000-01-01 00:00:00', '1000-01-01 00:00:00.001', '1000-01-01 00:00:00.000001', '1970-01-01 00:00:01', '1970-01-01 00:00:01.000001', '2000-01-01 00:00:00', 1901),
  ('9999-12-31', '838:59:59', '838:59:59', '838:59:59', '9999-12-31 23:59:59', '9999-12-31 23:59:59.999', '9999-12-31 23:59:59.999999', '2038-01-19 03:14:07', '2038-01-19 03:14:07.999999', '2024-02-29 12:00:00', 2155),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2020-06-15 12:34:56.789012', NULL, NULL),
  ('2024-02-29', '00:00:00', '00:00:00.001', '-00:00:00.000001', '2024-02-29 23:59:59', '2024-02-29 12:00:00.5', '2024-02-29 12:00:00.123456', '2024-02-29 12:00:00', '2024-02-29 12:00:00.5', '2024-02-29 12:00:00', 0),
  ('1969-12-31', '12:34:56', '12:34:56.789', '12:34:56.789012', '1969-12-31 23:59:59', '1969-12-31 23:59:59.999', '1969-12-31 23:59:59.999999', '2001-09-09 01:46:40', '2001-09-09 01:46:40.000000', '1969-12-31 23:59:59', 1970);

CREATE TABLE documents (
  id int PRIMARY KEY,
  j json DEFAULT NULL,
  g geometry, p point, l linestring, po polygon, mp multipoint, ml multilinestring, mpo multipolygon, gc geometrycollection
);
INSERT INTO documents VALUES
  (1, '{"b": [1, 2.5, "x\\"y", null, true], "a": {"ü": "🍀"}}', ST_GeomFromText('POINT(1 2)'), ST_GeomFromText('POINT(-0.5 1e10)'), ST_GeomFromText('LINESTRING(0 0,1 1,2 0)'),
   ST_GeomFromText('POLYGON((0 0,4 0,4 4,0 4,0 0),(1 1,2 1,2 2,1 2,1 1))'), ST_GeomFromText('MULTIPOINT(0 0,1 1)'), ST_GeomFromText('MULTILINESTRING((0 0,1 1),(2 2,3 3))'),
   ST_GeomFromText('MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((5 5,6 5,6 6,5 5)))'), ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1))')),
  (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (3, '[]', ST_GeomFromText('LINESTRING(0 0,1 1)', 4326), ST_GeomFromText('POINT(10 20)', 4326), NULL, NULL, NULL, NULL, NULL, NULL),
  (4, '"text"', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (5, '12345678901234567890', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (6, 'null', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (7, '{"z":1,"a":2,"a b":"it''s \\\\ back"}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

CREATE TABLE computed (
  id int NOT NULL AUTO_INCREMENT COMMENT 'key; it''s',
  price decimal(10,2) NOT NULL,
  qty int NOT NULL DEFAULT 1 CHECK (qty >= 0),
  total decimal(14,2) GENERATED ALWAYS AS (price * qty) STORED,
  label varchar(40) GENERATED ALWAYS AS (concat('#', id2, ' ', qty)) VIRTUAL,
  id2 int,
  sum_up int DEFAULT (1 + 2),
  PRIMARY KEY (id), KEY total (total), CONSTRAINT cheap CHECK (price < 1000000)
);
INSERT INTO computed (price, qty, id2) VALUES (1.50, 2, 7), (999999.99, 0, NULL), (0.01, 100, 3);

CREATE TABLE `quo``te d` (
  `select` int NOT NULL, `from where` varchar(20) NOT NULL, `日本` int, `a``b` int,
  PRIMARY KEY (`from where`, `select`), KEY `key``x` (`日本`), UNIQUE KEY `ab` (`a``b`)
);
INSERT INTO `quo``te d` VALUES (1, 'x', 2, NULL), (1, 'y', NULL, 3), (2, 'x', NULL, NULL);

CREATE TABLE nokey (a int, b varchar(10));
INSERT INTO nokey VALUES (1, 'x'), (1, 'x'), (NULL, NULL), (NULL, NULL);

CREATE TABLE empty (a int PRIMARY KEY);

CREATE TABLE customers (id int NOT NULL AUTO_INCREMENT, name varchar(40) NOT NULL, parent int DEFAULT NULL,
  PRIMARY KEY (id), UNIQUE KEY name (name), KEY parent (parent), CONSTRAINT up FOREIGN KEY (parent) REFERENCES customers (id) ON DELETE SET NULL);
CREATE TABLE orders (id int NOT NULL AUTO_INCREMENT, customer int NOT NULL, n int NOT NULL DEFAULT 0, PRIMARY KEY (id), UNIQUE KEY (customer, n),
  CONSTRAINT orders_ibfk_1 FOREIGN KEY (customer) REFERENCES customers (id) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE lines_of (`order` int NOT NULL, line int NOT NULL, `what` varchar(20), customer int, n int, PRIMARY KEY (`order`, line), KEY cn (customer, n),
  CONSTRAINT both_columns FOREIGN KEY (customer, n) REFERENCES orders (customer, n), CONSTRAINT fk_order FOREIGN KEY (`order`) REFERENCES orders (id));
CREATE TABLE audit (id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, what varchar(100) NOT NULL, at_ datetime(6) DEFAULT '2024-01-01 00:00:00.000000');
INSERT INTO customers VALUES (3, 'Zoë', NULL), (1, 'Müller', 3), (2, 'O''Neil', NULL);
INSERT INTO orders VALUES (10, 1, 0), (11, 1, 1), (12, 3, 0);
INSERT INTO lines_of VALUES (10, 1, 'tea', 1, 0), (10, 2, 'sugar', 1, 1), (12, 1, NULL, NULL, NULL);

CREATE VIEW big_orders AS SELECT o.id, c.name, count(l.line) AS line_count FROM orders o JOIN customers c ON c.id = o.customer LEFT JOIN lines_of l ON l.`order` = o.id GROUP BY o.id, c.name;
CREATE VIEW over_view AS SELECT name FROM big_orders WHERE line_count > 1;
CREATE VIEW a_view (x, y) AS SELECT a, concat(b, '''s') FROM nokey WHERE b LIKE 'x\\_%' OR b = 'x';

DELIMITER ;;
CREATE TRIGGER orders_ai AFTER INSERT ON orders FOR EACH ROW INSERT INTO audit (what) VALUES (concat('order ', NEW.id));;
CREATE TRIGGER customers_bu BEFORE UPDATE ON customers FOR EACH ROW
BEGIN
  IF NEW.name = '' THEN
    SET NEW.name = OLD.name; -- keep; it
  END IF;
  INSERT INTO audit (what) VALUES ('customer; updated');
END;;
CREATE PROCEDURE raise_all(IN percent int, OUT changed int)
    COMMENT 'raises; all'
BEGIN
  UPDATE computed SET price = price * (100 + percent) / 100;
  SET changed = 3;
END;;
CREATE PROCEDURE `list` () SELECT name FROM customers ORDER BY name;;
CREATE EVENT nightly ON SCHEDULE EVERY 1 DAY STARTS '2030-01-01 00:00:00' DISABLE DO DELETE FROM audit WHERE at_ < '2000-01-01';;
DELIMITER ;

CREATE TABLE many (id int NOT NULL PRIMARY KEY, k int NOT NULL, pad varchar(60) NOT NULL, KEY (k));
INSERT INTO many SELECT seq, seq * 7919 % 5000, concat('row ', seq, ' ', md5(seq)) FROM seq_1_to_5000;
