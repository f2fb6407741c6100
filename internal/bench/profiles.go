package bench

import (
	"context"
	"errors"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/chart"
	"github.com/hearthdb/hearth/internal/peer"
)

// The profiles.
const (
	ProfileHearthKept      = "hearth-kept"
	ProfileHearthDump      = "hearth-dump"
	ProfileHearthScan      = "hearth-scan"
	ProfileHearthCold      = "hearth-cold"
	ProfileInnoDBDump      = "innodb-dump"
	ProfileInnoDBScan      = "innodb-scan"
	ProfileInnoDBScanFirst = "innodb-scan-first"
	ProfileInnoDBCold      = "innodb-cold"
	ProfileMyRocks         = "myrocks"
)

// kindHearth are the profiles of hearth itself.
const kindHearth = "hearth"

// ServerProfileNames are all there are.
var ServerProfileNames = []string{
	ProfileHearthKept, ProfileHearthDump, ProfileHearthScan, ProfileHearthCold,
	ProfileInnoDBDump, ProfileInnoDBScan, ProfileInnoDBScanFirst, ProfileInnoDBCold, ProfileMyRocks,
}

// ServerProfiles are the restarts that are known by name; binary is hearth, which keeps its memory in the folder memory. InnoDB
// loads its dump, and hearth its own, as each does by default; InnoDB's has all pages in it, as hearth's has. Who keeps no memory has
// lost with its process what a reboot takes, so its files leave the system's cache too, for all alike.
func ServerProfiles(binary, memory string) map[string]ServerProfile {
	const dump = "SET GLOBAL innodb_buffer_pool_dump_now = ON"
	own := func(name string, color chart.Color) ServerProfile {
		return ServerProfile{Kind: kindHearth, Make: peer.Hearth(binary, memory), Memory: memory, Name: name, Color: color, Settle: settleHearth(memory), Facts: innodbFacts}
	}
	kept := own("hearth, memory kept", chart.Hearth)
	dumped := own("hearth, heat dump only", chart.Dump)
	dumped.Dump, dumped.Lose = dump, true
	scanned := own("hearth, full scans", chart.HearthScan)
	scanned.Lose, scanned.After, scanned.Scan = true, []string{"--prewarm=off"}, ScanBeside
	cold := own("hearth, cold", chart.Cold)
	cold.Lose, cold.After = true, []string{"--prewarm=off"}

	before := []string{"--innodb-buffer-pool-load-at-startup=OFF", "--innodb-buffer-pool-dump-at-shutdown=OFF", "--innodb-buffer-pool-dump-pct=100"}
	innodb := func(name string) ServerProfile {
		return ServerProfile{Kind: "mariadb", Make: peer.MariaDB, Name: name, Color: chart.InnoDB, Load: before, After: before, Lose: true, Facts: innodbFacts}
	}
	loaded := innodb("InnoDB, its own dump and load")
	loaded.Dump, loaded.After = dump, []string{"--innodb-buffer-pool-load-at-startup=ON", "--innodb-buffer-pool-dump-at-shutdown=OFF"}
	scans := innodb("InnoDB, full scans")
	scans.Color, scans.Scan = chart.InnoDBScan, ScanBeside
	scansFirst := innodb("InnoDB, full scans before clients")
	scansFirst.Color, scansFirst.Dash, scansFirst.Scan = chart.InnoDBScan, true, ScanBefore
	innodbCold := innodb("InnoDB, cold")
	innodbCold.Dash = true
	return map[string]ServerProfile{
		ProfileHearthKept: kept, ProfileHearthDump: dumped, ProfileHearthScan: scanned, ProfileHearthCold: cold,
		ProfileInnoDBDump: loaded, ProfileInnoDBScan: scans, ProfileInnoDBScanFirst: scansFirst, ProfileInnoDBCold: innodbCold,
		ProfileMyRocks: {Kind: "myrocks", Make: peer.MyRocks, Name: "MyRocks", Color: chart.MyRocks, Lose: true, Facts: rocksFacts},
	}
}

// settleHearth writes a checkpoint: a server of hearth that stops leaves its log and its changed pages to the memory it leaves behind.
func settleHearth(memory string) func(context.Context, *peer.Server) error {
	return func(ctx context.Context, s *peer.Server) error {
		db, err := hearth.Open(ctx, s.Data(), &hearth.Options{
			PoolSize: s.Config.Pool, LogSize: s.Config.LogSize, MemoryDir: memory, Memory: hearth.MemoryRequire, Logger: warnings,
		})
		if err != nil {
			return err
		}
		return errors.Join(db.Checkpoint(ctx), db.Close())
	}
}
