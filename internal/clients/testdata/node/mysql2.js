// mysql2 by itself: text and binary protocol, types both ways, several statements, transactions, streams, pools.
const assert = require('node:assert/strict');
const mysql = require('mysql2/promise');

const at = {host: process.env.HEARTH_HOST, port: Number(process.env.HEARTH_PORT), user: 'root'};

async function main() {
  const c = await mysql.createConnection({...at, multipleStatements: true, supportBigNumbers: true});
  await c.query('CREATE DATABASE node; USE node');
  await c.query(`CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a BIGINT UNSIGNED, b DECIMAL(20,5), c VARCHAR(50), d DATETIME(3),
    e DATE, f TIME, g YEAR, h JSON, i BLOB, j BIT(9), k FLOAT, l DOUBLE, m ENUM('x','y'), n SET('p','q'), o TIMESTAMP NULL, p CHAR(3),
    q TINYINT(1))`);
  const when = new Date(1e12);
  const row = {
    id: 1, a: '18446744073709551615', b: '12345.67891', c: 'hé😀', d: when, e: '2020-02-29', f: '-12:34:56', g: 2024, h: {a: [1, 'x']},
    i: Buffer.from([0, 255, 39]), j: Buffer.from([1, 1]), k: 1.5, l: 0.1, m: 'y', n: 'p,q', o: when, p: 'ab', q: 1,
  };
  const values = {...row, h: JSON.stringify(row.h), j: 257};
  const names = Object.keys(row);
  const [put] = await c.execute(`INSERT INTO t (${names}) VALUES (${names.map(() => '?')})`, names.map(n => values[n]));
  assert.deepEqual([put.affectedRows, put.insertId], [1, 1]);
  for (const how of ['query', 'execute']) {
    const [[got]] = await c[how]({sql: 'SELECT * FROM t', dateStrings: ['DATE']});
    assert.deepEqual({...got}, row, how);
  }
  const [found] = await c.execute('SELECT id FROM t WHERE c = ? AND d = ? AND a = ? AND h IS NOT NULL LIMIT ?', [row.c, when, row.a, '1']);
  assert.equal(found.length, 1);
  const [nothing] = await c.execute('SELECT ? AS a, NULL AS b, ? AS c', [null, 'x']);
  assert.deepEqual({...nothing[0]}, {a: null, b: null, c: 'x'});

  const [several] = await c.query('SELECT 1 AS a; SELECT 2 AS b; INSERT INTO t () VALUES (); SELECT COUNT(*) AS n FROM t');
  assert.deepEqual([several[0][0].a, several[1][0].b, several[2].insertId, several[3][0].n], [1, 2, 2, 2]);
  const [changed] = await c.query('UPDATE t SET k = 1.5');
  assert.deepEqual([changed.affectedRows, changed.changedRows], [2, 1]);
  await assert.rejects(c.execute('INSERT INTO t (id) VALUES (1)'), {code: 'ER_DUP_ENTRY', errno: 1062, sqlState: '23000'});
  await assert.rejects(c.query('SELECT 1; SELECT nope; SELECT 2'), {errno: 1054});

  await c.beginTransaction();
  await c.execute('DELETE FROM t');
  await c.rollback();
  assert.equal((await c.query('SELECT COUNT(*) AS n FROM t'))[0][0].n, 2);
  for (const statement of ['START TRANSACTION', 'SHOW TABLES', 'COMMIT', 'CREATE TABLE u (a INT)', 'SET @a = 5', 'DROP TABLE u']) {
    await c.execute(statement);
  }

  const long = 'x'.repeat(3e6);
  await c.query('CREATE TABLE l (a LONGTEXT)');
  await c.execute('INSERT INTO l VALUES (?)', [long]);
  assert.equal((await c.execute('SELECT a FROM l'))[0][0].a, long);
  let sum = 0;
  const numbers = 'WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 900) SELECT n FROM r';
  for await (const r of c.connection.query(numbers).stream()) sum += r.n;
  assert.equal(sum, 900 * 901 / 2);

  await c.changeUser({database: 'information_schema'});
  assert.equal((await c.query('SELECT DATABASE() AS d'))[0][0].d, 'information_schema');
  await c.ping();
  await c.end();

  const pool = mysql.createPool({...at, database: 'node', connectionLimit: 3});
  const got = await Promise.all([1, 2, 3, 4, 5, 6].map(i => pool.execute('SELECT ? AS a', [i])));
  assert.deepEqual(got.map(([[r]]) => r.a), [1, 2, 3, 4, 5, 6]);
  await pool.end();
}

main().catch(e => { console.error(e); process.exit(1); });
