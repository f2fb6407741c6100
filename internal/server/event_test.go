package server

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestEvents: events run when they are due, as their definer, and are over when they are.
func TestEvents(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(50))")
	count := func(what string) func() bool {
		return func() bool { return rows(t, c, "SELECT COUNT(*) > 0 FROM log WHERE what = ?", what)[0] == "1" }
	}
	exec(t, c, "CREATE EVENT once ON SCHEDULE AT NOW() + INTERVAL 1 SECOND DO INSERT INTO log (what) VALUES ('once')")
	exec(t, c, "CREATE EVENT kept ON SCHEDULE AT NOW() + INTERVAL 1 SECOND ON COMPLETION PRESERVE DO INSERT INTO log (what) VALUES ('kept')")
	exec(t, c, "CREATE EVENT again ON SCHEDULE EVERY 1 SECOND DO INSERT INTO log (what) VALUES ('again')")
	exec(t, c, "CREATE EVENT disabled ON SCHEDULE EVERY 1 SECOND DISABLE DO INSERT INTO log (what) VALUES ('off')")
	exec(t, c, "CREATE EVENT failing ON SCHEDULE EVERY 1 SECOND DO INSERT INTO log VALUES (1, 'twice')")
	exec(t, c, "CREATE EVENT last ON SCHEDULE EVERY 1 HOUR ENDS NOW() + INTERVAL 1 MINUTE DO INSERT INTO log (what) VALUES ('last')")
	exec(t, c, `CREATE EVENT block ON SCHEDULE EVERY 1 DAY DO BEGIN
		DECLARE n INT DEFAULT 0;
		WHILE n < 3 DO
			INSERT INTO log (what) VALUES (CONCAT('block ', n, ' ', CURRENT_USER()));
			SET n = n + 1;
		END WHILE;
		SELECT * FROM log;
	END`)
	eventually(t, "the first one-time event ran", count("once"))
	eventually(t, "the second one-time event ran", count("kept"))
	eventually(t, "the event with an end ran", count("last"))
	eventually(t, "the block ran", count("block 2 root@localhost"))
	eventually(t, "the recurring event ran twice", func() bool {
		return rows(t, c, "SELECT COUNT(*) > 1 FROM log WHERE what = 'again'")[0] == "1"
	})
	eventually(t, "what is over was dropped or disabled", func() bool {
		got := rows(t, c, `SELECT EVENT_NAME, STATUS, LAST_EXECUTED IS NOT NULL FROM information_schema.EVENTS
			WHERE EVENT_SCHEMA = 'test' ORDER BY 1`)
		return strings.Join(got, ", ") == "again ENABLED 1, block ENABLED 1, disabled DISABLED 0, failing ENABLED 1, kept DISABLED 1"
	})
	if n := rows(t, c, "SELECT COUNT(*) FROM log WHERE what IN ('once', 'kept', 'last')"); n[0] != "3" {
		t.Fatalf("%s executions of events that are due once, want 3", n[0])
	}
	exec(t, c, "ALTER EVENT again DISABLE")
	exec(t, c, "ALTER EVENT disabled ENABLE")
	eventually(t, "an event that was enabled ran", count("off"))
	exec(t, c, "ALTER EVENT kept ON SCHEDULE AT NOW() + INTERVAL 1 SECOND ENABLE")
	eventually(t, "an event with a new time ran", func() bool {
		return rows(t, c, "SELECT COUNT(*) = 2 FROM log WHERE what = 'kept'")[0] == "1"
	})
	exec(t, c, "DROP EVENT disabled")
	_, err := c.ExecContext(t.Context(), "CREATE EVENT zero ON SCHEDULE EVERY 0 SECOND DO SELECT 1")
	failsWith(t, err, 1542)
	_, err = c.ExecContext(t.Context(), "CREATE EVENT ends ON SCHEDULE EVERY 1 SECOND ENDS '2020-01-01 00:00:00' DO SELECT 1")
	failsWith(t, err, 1543)
}

// TestEventScheduler: the variable switches all of them.
func TestEventScheduler(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE log (what VARCHAR(50))")
	exec(t, c, "SET GLOBAL event_scheduler = OFF")
	expect(t, rows(t, c, "SHOW VARIABLES LIKE 'event_scheduler'"), "event_scheduler OFF")
	exec(t, c, "CREATE EVENT once ON SCHEDULE AT NOW() + INTERVAL 1 SECOND DO INSERT INTO log VALUES ('once')")
	time.Sleep(2500 * time.Millisecond) // what must not happen cannot be waited for
	expect(t, rows(t, c, "SELECT * FROM log"))
	exec(t, c, "SET GLOBAL event_scheduler = 1")
	expect(t, rows(t, c, "SELECT @@GLOBAL.event_scheduler"), "ON")
	eventually(t, "an event that was missed ran", func() bool { return len(rows(t, c, "SELECT * FROM log")) == 1 })
	_, err := c.ExecContext(t.Context(), "SET GLOBAL event_scheduler = DISABLED")
	failsWith(t, err, 1231)
}

func TestEventSchedulerDisabled(t *testing.T) {
	s := start(t, func(c *Config) { c.EventScheduler = "DISABLED" })
	c := conn(t, open(t, s))
	_, err := c.ExecContext(t.Context(), "SET GLOBAL event_scheduler = ON")
	failsWith(t, err, 1290)
	expect(t, rows(t, c, "SELECT @@GLOBAL.event_scheduler"), "DISABLED")
}

// TestEventsAcrossRestart: one that was due while nobody looked runs when the server is up, once; a recurring one waits for its next
// time. What runs when the server stops is stopped.
func TestEventsAcrossRestart(t *testing.T) {
	cfg := testConfig(t)
	s, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE log (what VARCHAR(50))")
	exec(t, c, "CREATE EVENT endless ON SCHEDULE EVERY 1 SECOND DO SELECT SLEEP(1000)")
	eventually(t, "the endless one runs", func() bool {
		return len(rows(t, c, "SELECT * FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP%'")) == 1
	})
	exec(t, c, "SET GLOBAL event_scheduler = OFF")
	exec(t, c, "CREATE EVENT once ON SCHEDULE AT NOW() + INTERVAL 1 SECOND ON COMPLETION PRESERVE DO INSERT INTO log VALUES ('once')")
	exec(t, c, "CREATE EVENT hourly ON SCHEDULE EVERY 1 HOUR STARTS NOW() + INTERVAL 1 SECOND DO INSERT INTO log VALUES ('hourly')")
	time.Sleep(2 * time.Second) // their time comes, and goes
	c.Close()
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		func() {
			s, err := Start(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close(t.Context())
			c := conn(t, open(t, s))
			eventually(t, "the missed event ran", func() bool { return len(rows(t, c, "SELECT * FROM log")) == 1 })
			expect(t, rows(t, c, "SELECT what FROM log"), "once")
			expect(t, rows(t, c, "SELECT EVENT_NAME, DEFINER, STATUS FROM information_schema.EVENTS WHERE EVENT_SCHEMA = 'test' ORDER BY 1"),
				"endless root@localhost ENABLED", "hourly root@localhost ENABLED", "once root@localhost DISABLED")
		}()
	}
}

// TestEventDefiner: an event may do what its definer may.
func TestEventDefiner(t *testing.T) {
	s := start(t)
	root := conn(t, open(t, s))
	exec(t, root, "CREATE TABLE log (what VARCHAR(50))")
	exec(t, root, "CREATE TABLE closed (what VARCHAR(50))")
	exec(t, root, "CREATE USER eve@localhost, gone@localhost")
	exec(t, root, "GRANT SELECT, INSERT ON test.log TO eve@localhost")
	for i, body := range []string{"INSERT INTO closed VALUES ('no')", "INSERT INTO log VALUES (CURRENT_USER())"} {
		exec(t, root, fmt.Sprintf("CREATE DEFINER = eve@localhost EVENT e%d ON SCHEDULE EVERY 1 SECOND DO %s", i, body))
	}
	exec(t, root, "CREATE DEFINER = nobody@localhost EVENT n ON SCHEDULE EVERY 1 SECOND DO INSERT INTO log VALUES ('nobody')")
	eventually(t, "the event of a user ran twice", func() bool { return len(rows(t, root, "SELECT * FROM log")) > 1 })
	expect(t, rows(t, root, "SELECT DISTINCT what FROM log"), "eve@localhost")
	expect(t, rows(t, root, "SELECT * FROM closed"))
}

// TestKillEvent: an event that runs is a connection that can be killed, and it is not started beside itself.
func TestKillEvent(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE log (what VARCHAR(50))")
	exec(t, c, "CREATE EVENT long_one ON SCHEDULE EVERY 1 SECOND DO BEGIN INSERT INTO log VALUES ('began'); SELECT SLEEP(1000); END")
	find := "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'BEGIN INSERT%'"
	eventually(t, "it runs", func() bool { return len(rows(t, c, find)) == 1 })
	id := rows(t, c, find)[0]
	time.Sleep(2 * time.Second)
	expect(t, rows(t, c, find), id)
	exec(t, c, "ALTER EVENT long_one DISABLE")
	exec(t, c, "KILL QUERY "+id)
	eventually(t, "it ends", func() bool { return len(rows(t, c, find)) == 0 })
	expect(t, rows(t, c, "SELECT * FROM log"), "began")
}
