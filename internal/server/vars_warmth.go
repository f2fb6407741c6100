package server

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
)

// warmthOrders is what SET GLOBAL has asked the heat dump and its load to do. Such variables are buttons: they set something
// going and are OFF again. What became of it is in the status values.
type warmthOrders struct {
	mu       sync.Mutex
	fileName string // innodb_buffer_pool_filename; guarded by mu
	percent  int    // innodb_buffer_pool_dump_pct; guarded by mu
}

// warmthVariables are InnoDB's names for the dump and the load of the buffer pool, Percona's for the dump from time to time, and
// what only we have.
func (s *Server) warmthVariables() []variable {
	o := s.cfg.Engine
	percent := orDefault(o.HeatDumpPercent, 100)
	interval := orDefault(o.HeatDumpInterval, hearth.DefaultHeatDumpInterval)
	prewarm := orDefault(o.Prewarm, hearth.PrewarmBackground)
	s.orders.percent = percent
	return []variable{
		{name: "innodb_buffer_pool_dump_now", value: false, dynamic: true, changed: s.button("innodb_buffer_pool_dump_now", s.dumpNow)},
		{name: "innodb_buffer_pool_load_now", value: false, dynamic: true, changed: s.button("innodb_buffer_pool_load_now", s.loadNow)},
		{name: "innodb_buffer_pool_load_abort", value: false, dynamic: true, changed: s.button("innodb_buffer_pool_load_abort", s.loadAbort)},
		{name: "innodb_buffer_pool_dump_pct", value: int64(percent), dynamic: true, low: 1, high: 100, changed: s.setDumpPercent},
		{name: "innodb_buffer_pool_filename", value: "", dynamic: true, changed: s.setDumpFile},
		{name: "innodb_buffer_pool_dump_at_shutdown", value: o.HeatDumpAtShutdown != hearth.Off, dynamic: true, changed: s.setDumpAtShutdown},
		{name: "innodb_fast_shutdown", value: s.fastShutdown(), dynamic: true, high: 3, changed: s.setFastShutdown},
		{name: "innodb_buffer_pool_load_at_startup", value: prewarm != hearth.PrewarmOff}, // this start has been; the next one asks the configuration
		{name: "innodb_auto_lru_dump", value: max(0, int64(interval.Seconds())), dynamic: true, high: math.MaxUint32, changed: s.setDumpInterval},
		{name: "hearth_prewarm", value: string(prewarm)},
		{name: "hearth_prewarm_floor", value: int64(orDefault(o.PrewarmFloor, hearth.DefaultPrewarmFloor)), dynamic: true, low: 1,
			high: hearth.MaxPrewarmFloor, changed: s.setFloor},
		{name: "hearth_prewarm_pause", value: false, dynamic: true, changed: s.pausePrewarm},
		{name: "hearth_heat_dumps_kept", value: int64(orDefault(o.HeatDumpsKept, hearth.DefaultHeatDumpsKept))},
	}
}

// fastShutdown is innodb_fast_shutdown. 0 is a slow one: every page is written to its file, as those want it who are about to copy the files, or to shut
// the machine down. 1 to 3 are the same here: what is not written stays in memory, and in the log.
func (s *Server) fastShutdown() int64 {
	if s.flush.Load() {
		return 0
	}
	return 1
}

func (s *Server) setFastShutdown(value any) error {
	s.flush.Store(toInt(value) == 0)
	return nil
}

// button runs do behind SET GLOBAL name = ON, and lets go of the button. SET OFF, and letting go, do nothing.
func (s *Server) button(name string, do func(context.Context)) func(any) error {
	return func(value any) error {
		if toInt(value) == 0 {
			return nil
		}
		s.background.Go(func() {
			do(s.ctx)
			if err := gms.SystemVariables.AssignValues(map[string]any{name: int8(0)}); err != nil {
				panic("BUG: " + name + ": " + err.Error())
			}
		})
		return nil
	}
}

func (s *Server) dumpNow(ctx context.Context) {
	s.orders.mu.Lock()
	o := hearth.DumpOptions{Percent: s.orders.percent}
	name := s.orders.fileName
	s.orders.mu.Unlock()
	o.Path, _ = s.inData(name) // it was looked at when it was set
	if _, err := s.db.Warmth().Dump(ctx, o); err != nil && !errors.Is(err, context.Canceled) {
		s.log.Error("dump of the buffer pool", "err", err)
	}
}

func (s *Server) loadNow(ctx context.Context) {
	s.orders.mu.Lock()
	name := s.orders.fileName
	s.orders.mu.Unlock()
	path, _ := s.inData(name)
	if err := s.db.Warmth().Load(ctx, hearth.LoadOptions{Path: path}); err != nil {
		s.log.Error("load of the buffer pool", "err", err)
	}
}

func (s *Server) loadAbort(context.Context) { s.db.Warmth().Cancel() }

// changeWarmth changes one of the engine's settings, from now on. The lock of the variables keeps two changes apart.
func (s *Server) changeWarmth(change func(*hearth.WarmthSettings)) error {
	settings := s.db.Warmth().Settings()
	change(&settings)
	return s.db.Warmth().Change(settings)
}

func (s *Server) setDumpAtShutdown(value any) error {
	return s.changeWarmth(func(w *hearth.WarmthSettings) { w.DumpAtShutdown = toInt(value) != 0 })
}

// setDumpInterval takes seconds; 0 is never, as Percona has it.
func (s *Server) setDumpInterval(value any) error {
	return s.changeWarmth(func(w *hearth.WarmthSettings) {
		w.DumpInterval = time.Duration(toInt(value)) * time.Second
		if w.DumpInterval == 0 {
			w.DumpInterval = -1
		}
	})
}

func (s *Server) setFloor(value any) error {
	return s.changeWarmth(func(w *hearth.WarmthSettings) { w.Floor = int(toInt(value)) })
}

// setDumpPercent holds for every dump: those that are asked for, those from time to time and the one at the end.
func (s *Server) setDumpPercent(value any) error {
	s.orders.mu.Lock()
	s.orders.percent = int(toInt(value))
	s.orders.mu.Unlock()
	return s.changeWarmth(func(w *hearth.WarmthSettings) { w.DumpPercent = int(toInt(value)) })
}

func (s *Server) setDumpFile(value any) error {
	name, _ := value.(string)
	if _, err := s.inData(name); err != nil {
		return sqlError(erWrongValueForVar, stateSyntaxOrAccess, "Variable 'innodb_buffer_pool_filename' can't be set to the value of "+err.Error())
	}
	s.orders.mu.Lock()
	defer s.orders.mu.Unlock()
	s.orders.fileName = name
	return nil
}

func (s *Server) pausePrewarm(value any) error {
	if toInt(value) != 0 {
		s.db.Warmth().Pause()
	} else {
		s.db.Warmth().Resume()
	}
	return nil
}
