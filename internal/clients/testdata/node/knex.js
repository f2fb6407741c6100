// Knex: migrations up and down, a schema with every kind of column it knows, queries, transactions, reflection.
const assert = require('node:assert/strict');
const knex = require('knex');

const at = {host: process.env.HEARTH_HOST, port: Number(process.env.HEARTH_PORT), user: 'root'};

const steps = {
  '1_tables': {
    up: async k => {
      await k.schema.createTable('users', t => {
        t.increments('id');
        t.string('email', 190).notNullable().unique();
        t.enu('role', ['admin', 'user']).defaultTo('user');
        t.timestamps(true, true);
      });
      await k.schema.createTable('posts', t => {
        t.bigIncrements('id');
        t.integer('user_id').unsigned().notNullable().references('users.id').onDelete('CASCADE');
        t.string('title').index();
        t.text('body', 'longtext');
        t.decimal('price', 12, 3).defaultTo(1.5);
        t.boolean('live').notNullable().defaultTo(true);
        t.json('tags');
        t.uuid('uid');
        t.datetime('at', {precision: 6});
        t.binary('raw');
        t.float('score');
        t.unique(['user_id', 'title'], {indexName: 'one_title'});
        t.comment("what it's about");
      });
    },
    down: async k => { await k.schema.dropTable('posts'); await k.schema.dropTable('users'); },
  },
  '2_changes': {
    up: k => k.schema.alterTable('posts', t => {
      t.string('slug', 60).after('title');
      t.string('title', 300).notNullable().alter();
      t.renameColumn('score', 'rating');
      t.index(['live', 'at'], 'by_live');
      t.dropColumn('raw');
    }),
    down: k => k.schema.alterTable('posts', t => {
      t.dropIndex(['live', 'at'], 'by_live');
      t.renameColumn('rating', 'score');
      t.dropColumn('slug');
      t.binary('raw');
    }),
  },
};

const migrations = {
  migrationSource: {
    getMigrations: async () => Object.keys(steps), getMigrationName: name => name, getMigration: async name => steps[name],
  },
};

async function main() {
  const root = knex({client: 'mysql2', connection: at});
  await root.raw('CREATE DATABASE knex');
  await root.destroy();
  const k = knex({client: 'mysql2', connection: {...at, database: 'knex'}, pool: {min: 0, max: 4}, migrations});

  assert.deepEqual((await k.migrate.latest())[1], Object.keys(steps));
  assert.ok(await k.schema.hasTable('posts'));
  assert.ok(await k.schema.hasColumn('posts', 'slug'));
  assert.ok(!await k.schema.hasColumn('posts', 'raw'));
  const columns = await k('posts').columnInfo();
  assert.deepEqual(columns.title, {defaultValue: null, type: 'varchar', maxLength: 300, nullable: false});
  assert.equal(columns.rating.type, 'float');
  assert.equal((await k('users').columnInfo('role')).defaultValue, 'user');

  const [ann] = await k('users').insert({email: 'ann@example.com'});
  await k('posts').insert([1, 2, 3].map(i => ({user_id: ann, title: `post ${i}`, tags: JSON.stringify([i]), price: i / 4})));
  const posts = await k('posts as p').join('users as u', 'u.id', 'p.user_id').where('p.price', '>', 0.3).orderBy('p.id', 'desc')
    .select('u.email', 'u.role', 'p.title', 'p.price', 'p.live', 'p.tags');
  assert.deepEqual({...posts[0]}, {email: 'ann@example.com', role: 'user', title: 'post 3', price: '0.750', live: 1, tags: [3]});
  assert.equal(posts.length, 2);
  const total = await k('posts').sum({s: 'price'}).count({n: '*'}).first();
  assert.deepEqual([Number(total.s), total.n], [1.5, 3]); // a number here, the text of a DECIMAL with MySQL
  await k('users').insert({email: 'ann@example.com', role: 'admin'}).onConflict('email').merge();
  assert.equal((await k('users').where({id: ann}).first()).role, 'admin');
  await k('users').insert({email: 'ann@example.com', role: 'user'}).onConflict('email').ignore();
  await assert.rejects(k('users').insert({email: 'ann@example.com'}), {code: 'ER_DUP_ENTRY'});
  await assert.rejects(k.transaction(async tx => {
    await tx('posts').where({user_id: ann}).forUpdate().del();
    throw new Error('back');
  }), /back/);
  assert.equal(await k('posts').where({user_id: ann}).update({live: false}), 3);
  await k.transaction(tx => tx('users').where({id: ann}).del(), {isolationLevel: 'read committed'});
  assert.equal((await k('posts')).length, 0);

  await k.migrate.rollback(undefined, true);
  assert.ok(!await k.schema.hasTable('users'));
  await k.destroy();
}

main().catch(e => { console.error(e); process.exit(1); });
