// Sequelize: models with relations, sync and sync with alter, queries, transactions, describeTable and the index list.
const assert = require('node:assert/strict');
const {Sequelize, DataTypes, Op, UniqueConstraintError, ForeignKeyConstraintError} = require('sequelize');

const at = {host: process.env.HEARTH_HOST, port: Number(process.env.HEARTH_PORT), dialect: 'mysql', logging: false};

function models(s, more = {}) {
  const User = s.define('User', {
    email: {type: DataTypes.STRING(190), allowNull: false, unique: 'by_email'},
    role: {type: DataTypes.ENUM('admin', 'user'), defaultValue: 'user'},
    balance: {type: DataTypes.DECIMAL(12, 2), allowNull: false, defaultValue: 0},
  });
  const Post = s.define('Post', {
    id: {type: DataTypes.BIGINT, primaryKey: true, autoIncrement: true},
    title: {type: DataTypes.STRING, allowNull: false},
    body: DataTypes.TEXT('long'),
    meta: DataTypes.JSON,
    at: DataTypes.DATE(6),
    day: DataTypes.DATEONLY,
    live: {type: DataTypes.BOOLEAN, defaultValue: true},
    raw: DataTypes.BLOB,
    uid: {type: DataTypes.UUID, defaultValue: DataTypes.UUIDV4},
    score: DataTypes.DOUBLE,
    ...more,
  }, {indexes: [{fields: ['live', 'at']}, {fields: [{name: 'title', length: 20}]}], paranoid: true});
  const Tag = s.define('Tag', {name: {type: DataTypes.STRING(50), primaryKey: true}}, {timestamps: false});
  User.hasMany(Post, {onDelete: 'CASCADE', foreignKey: {allowNull: false}});
  Post.belongsTo(User);
  Post.belongsToMany(Tag, {through: 'PostTags', timestamps: false});
  Tag.belongsToMany(Post, {through: 'PostTags', timestamps: false});
  return {User, Post, Tag};
}

async function main() {
  const root = new Sequelize('', 'root', '', at);
  await root.query('CREATE DATABASE `sequelize`');
  await root.close();
  let s = new Sequelize('sequelize', 'root', '', at);
  models(s);
  await s.sync();
  await s.sync(); // finds the tables there
  await s.close();

  s = new Sequelize('sequelize', 'root', '', at);
  const {User, Post, Tag} = models(s, {slug: {type: DataTypes.STRING(60), allowNull: false, defaultValue: ''}});
  await s.sync({alter: true});
  const q = s.getQueryInterface();
  const columns = await q.describeTable('Posts');
  assert.deepEqual(
    [columns.title.type, columns.title.allowNull, columns.id.primaryKey, columns.id.autoIncrement, columns.slug.defaultValue],
    ['VARCHAR(255)', false, true, true, '']);
  assert.equal((await q.describeTable('Users')).role.type, "ENUM('admin','user')");
  assert.equal((await q.describeTable('Users')).role.defaultValue, 'user');
  const indexes = await q.showIndex('Posts');
  assert.deepEqual(indexes.find(i => i.name === 'posts_title').fields, [{attribute: 'title', length: 20, order: 'ASC'}]);
  const keys = await q.getForeignKeyReferencesForTable('Posts');
  assert.ok(keys.some(k => k.columnName === 'UserId' && k.referencedTableName === 'Users'), JSON.stringify(keys));

  const ann = await User.create({email: 'ann@example.com'});
  const when = new Date(1e12);
  const post = await ann.createPost({title: 'one', meta: {a: [1, 'é']}, at: when, day: '2020-02-29', raw: Buffer.from([0, 255]), score: 0.1});
  await post.setTags(await Tag.bulkCreate([{name: 'x'}, {name: 'y'}]));
  const got = await Post.findOne({where: {title: 'one'}, include: [User, Tag]});
  assert.deepEqual(
    [got.User.email, got.User.role, got.User.balance, got.Tags.map(t => t.name).sort(), got.meta, got.day, got.live, got.score, got.raw],
    ['ann@example.com', 'user', '0.00', ['x', 'y'], {a: [1, 'é']}, '2020-02-29', true, 0.1, Buffer.from([0, 255])]);
  assert.equal(got.at.getTime(), when.getTime());
  assert.equal(await Post.count({where: {'meta.a[1]': 'é'}}), 1);
  await assert.rejects(User.create({email: 'ann@example.com'}), UniqueConstraintError);
  await assert.rejects(Post.create({title: 'x', UserId: 77}), ForeignKeyConstraintError);
  const [, made] = await User.findOrCreate({where: {email: 'bob@example.com'}});
  assert.ok(made);
  await User.upsert({id: ann.id, email: 'ann@example.com', role: 'admin'});
  await ann.reload();
  assert.equal(ann.role, 'admin');
  await User.increment({balance: 5}, {where: {id: ann.id}});
  const back = s.transaction(async transaction => {
    await User.findByPk(ann.id, {transaction, lock: transaction.LOCK.UPDATE, skipLocked: true});
    await User.update({balance: 99}, {where: {}, transaction});
    throw new Error('back');
  });
  await assert.rejects(back, /back/);
  assert.equal(await User.sum('balance'), 5);
  const page = await Post.findAndCountAll({where: {title: {[Op.like]: 'o%'}}, include: User, limit: 1, order: [['id', 'DESC']]});
  assert.deepEqual([page.count, page.rows.length], [1, 1]);
  await post.destroy(); // marks it
  assert.deepEqual([await Post.count(), await Post.count({paranoid: false})], [0, 1]);
  await ann.destroy();
  assert.equal(await Post.count({paranoid: false}), 0);

  await q.addColumn('Posts', 'extra', {type: DataTypes.INTEGER, after: 'title'});
  await q.renameColumn('Posts', 'extra', 'more');
  await q.changeColumn('Posts', 'more', {type: DataTypes.BIGINT, allowNull: false, defaultValue: 7});
  await q.addIndex('Posts', ['more'], {unique: true, name: 'by_more'});
  await q.removeIndex('Posts', 'by_more');
  await q.removeColumn('Posts', 'more');
  await s.drop();
  assert.deepEqual(await q.showAllTables(), []);
  await s.close();
}

main().catch(e => { console.error(e); process.exit(1); });
