package clients_test

import "testing"

// mysql2 by itself, Knex with migrations, and Sequelize with models.
func TestNode(t *testing.T) {
	need(t, "node")
	dir := install(t, "node", []string{"npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"})
	for _, c := range []string{"mysql2.js", "knex.js", "sequelize.js"} {
		t.Run(c, func(t *testing.T) { script(t, dir, "node", c) })
	}
}
