package bench

import (
	"github.com/hearthdb/hearth/internal/chart"
	"github.com/hearthdb/hearth/internal/peer"
)

// ServerProfiles are the restarts that are known by name; binary is hearth, which keeps its memory in the folder memory. InnoDB loads its dump, and hearth its own, as each does by default.
func ServerProfiles(binary, memory string) map[string]ServerProfile {
	lose := func(*peer.Server) error { return LoseMemory(memory) }
	hearth := ServerProfile{Kind: "hearth", Make: peer.Hearth(binary, memory), Color: chart.Hearth, Name: "hearth, memory kept"}
	dump := hearth
	dump.Name, dump.Color, dump.Dump, dump.Lose = "hearth, heat dump only", chart.Dump, "SET GLOBAL innodb_buffer_pool_dump_now = ON", lose
	cold := hearth
	cold.Name, cold.Color, cold.Lose, cold.After = "hearth, cold", chart.Cold, lose, []string{"--prewarm=off"}
	innodb := ServerProfile{
		Kind: "mariadb", Make: peer.MariaDB, Color: chart.InnoDB, Name: "InnoDB, its own dump and load",
		Dump: "SET GLOBAL innodb_buffer_pool_dump_now = ON", Load: []string{"--innodb-buffer-pool-load-at-startup=OFF", "--innodb-buffer-pool-dump-pct=100"},
		After: []string{"--innodb-buffer-pool-load-at-startup=ON"},
	}
	innodbCold := innodb
	innodbCold.Name, innodbCold.Dump, innodbCold.Dash, innodbCold.After = "InnoDB, cold", "", true, innodb.Load
	return map[string]ServerProfile{
		"hearth-kept": hearth, "hearth-dump": dump, "hearth-cold": cold, "innodb-dump": innodb, "innodb-cold": innodbCold,
	}
}
