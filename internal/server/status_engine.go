package server

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/hearthdb/hearth"
)

// transactionsShown is how many transactions SHOW ENGINE STATUS lists.
const transactionsShown = 50

// fileClasses are who waits for an operation on data files, by hearth.Stats.Files.
var fileClasses = [...]string{"miss", "log", "write-back", "redo", "read-ahead", "prewarm"}

// engineStatus is the text of SHOW ENGINE INNODB STATUS. Sections have InnoDB's names where InnoDB has them, for that is how
// operators and their tools find them; what stands in them is what we know, and nothing else.
func (s *Server) engineStatus() string {
	var b strings.Builder
	l := s.look()
	now := time.Now()
	fmt.Fprintf(&b, "\n=====================================\n%s HEARTH MONITOR OUTPUT\n=====================================\n",
		now.Format("2006-01-02 15:04:05"))
	fmt.Fprintf(&b, "Values count from the start of the server, %d seconds ago\n", l.uptime/time.Second)
	section := func(name string) {
		line := strings.Repeat("-", len(name))
		fmt.Fprintf(&b, "%s\n%s\n%s\n", line, name, line)
	}

	section("START")
	fmt.Fprintf(&b, "%s\n", l.report)

	if d, ok := s.db.LastDeadlock(); ok {
		section("LATEST DETECTED DEADLOCK")
		s.deadlockText(&b, d)
	}

	section("TRANSACTIONS")
	t := l.engine.Txn
	fmt.Fprintf(&b, "Trx id counter %d\n", t.NextID)
	fmt.Fprintf(&b, "Purge: %d undo records purged, lag %d ids%s\n", t.Purged, t.PurgeLag, map[bool]string{true: ", held back by a snapshot"}[t.PurgeBlocked])
	fmt.Fprintf(&b, "History list length %d\n", t.History)
	fmt.Fprintf(&b, "Row locks: %d keys, %d waiting, %d waits since the start, %d timeouts, %d deadlocks, longest wait %.3f s\n",
		t.Locks.Keys, t.Locks.Waiting, t.Locks.Waits, t.Locks.Timeouts, t.Locks.Deadlocks, t.Locks.LongestWait.Seconds())
	b.WriteString("LIST OF TRANSACTIONS FOR EACH SESSION:\n")
	s.transactionTexts(&b)

	section("FILE I/O")
	fmt.Fprintf(&b, "%d OS file reads, %d OS file writes, %d OS fsyncs\n", l.files.reads, l.files.writes+l.engine.Log.Writes,
		l.engine.Syncs.Files+l.engine.Syncs.Doublewrite+l.engine.Log.Syncs)
	for i, c := range l.engine.Files {
		fmt.Fprintf(&b, "%s: %d reads (%d bytes), %d writes (%d bytes), %.3f s on the disk, %.3f s held back, %d in flight\n",
			fileClasses[i], c.Reads, c.BytesRead, c.Writes, c.BytesWritten, c.Busy.Seconds(), c.Waited.Seconds(), c.InFlight)
	}

	section("LOG")
	g := l.engine.Log
	fmt.Fprintf(&b, "Log sequence number          %d\n", g.Tail)
	fmt.Fprintf(&b, "Log written up to            %d\n", g.Written)
	fmt.Fprintf(&b, "Log flushed up to            %d\n", g.Durable)
	fmt.Fprintf(&b, "Last checkpoint at           %d\n", l.engine.CheckpointLSN)
	fmt.Fprintf(&b, "Checkpoint age               %d of %d bytes\n", l.engine.CheckpointAge, l.engine.LogCapacity)
	fmt.Fprintf(&b, "%d log i/o's done, %d syncs, %.3f s in both, %d waits for room in the ring\n", g.Writes, g.Syncs, g.SyncTime.Seconds(), g.RingFull)

	section("BUFFER POOL AND MEMORY")
	p := l.engine.Pool
	fmt.Fprintf(&b, "Memory outlives the process  %s\n", yes(l.report.Survives))
	fmt.Fprintf(&b, "Buffer pool size             %d\n", p.Frames)
	fmt.Fprintf(&b, "Buffer pool size, bytes      %d\n", int64(p.Frames)*hearth.PageSize)
	fmt.Fprintf(&b, "Free buffers                 %d\n", p.Free)
	fmt.Fprintf(&b, "Database pages               %d\n", p.Frames-p.Free)
	fmt.Fprintf(&b, "Modified db pages            %d\n", p.Dirty)
	fmt.Fprintf(&b, "Pages read %d, written %d, evicted %d\n", p.Misses, p.Writes, p.Evictions)
	if requests := p.Hits + p.Misses; requests > 0 {
		fmt.Fprintf(&b, "Buffer pool hit rate %d / 1000\n", 1000*p.Hits/requests)
	}
	if p.LastWriteError != nil {
		fmt.Fprintf(&b, "Last error of a write: %v\n", p.LastWriteError)
	}

	section("WARMTH")
	fmt.Fprintf(&b, "%s\n%s\n", dumpText(l), loadText(l))

	b.WriteString("----------------------------\nEND OF HEARTH MONITOR OUTPUT\n============================\n")
	return b.String()
}

// transactionTexts lists the transactions, those that wait first.
func (s *Server) transactionTexts(b *strings.Builder) {
	owners := s.treeOwners()
	list := s.db.Transactions()
	shown := 0
	for _, waiting := range []bool{true, false} {
		for _, t := range list {
			if (t.Wait != nil) != waiting {
				continue
			}
			if shown++; shown > transactionsShown {
				fmt.Fprintf(b, "... and %d more; see information_schema.HEARTH_TRANSACTIONS\n", len(list)-transactionsShown)
				return
			}
			fmt.Fprintf(b, "---TRANSACTION %d, %s %.0f sec, %s\n", t.ID, strings.ToUpper(t.State.String()), since(t.Began), isolationName(t.Isolation))
			fmt.Fprintf(b, "%d row lock(s), %d row change(s)\n", t.Locks, t.Changes)
			if user, host, query := s.sessionOf(t.Tag); user != nil {
				fmt.Fprintf(b, "MySQL thread id %d, %s@%s\n", t.Tag, user, host)
				if query != nil {
					fmt.Fprintf(b, "%s\n", query)
				}
			}
			if w := t.Wait; w != nil {
				fmt.Fprintf(b, "------- TRX HAS BEEN WAITING %.0f SEC FOR THIS LOCK TO BE GRANTED: %s\n", since(w.Since), s.lockText(owners, *w))
			}
		}
	}
}

func (s *Server) lockText(owners map[string]treeOwner, w hearth.LockWait) string {
	where := "tree " + w.Tree
	if o, ok := owners[w.Tree]; ok {
		where = fmt.Sprintf("index %s of table `%s`.`%s`", o.index, o.schema, o.table)
	}
	return fmt.Sprintf("RECORD LOCK %s, mode %s, key 0x%s", where, w.Mode, hex.EncodeToString(w.Key))
}

func (s *Server) deadlockText(b *strings.Builder, d hearth.Deadlock) {
	owners := s.treeOwners()
	fmt.Fprintf(b, "%s\n", d.At.Local().Format("2006-01-02 15:04:05"))
	for i, w := range d.Waits {
		fmt.Fprintf(b, "*** (%d) TRANSACTION %d, MySQL thread id %d\n", i+1, w.Waiter.ID, w.Waiter.Tag)
		fmt.Fprintf(b, "*** (%d) WAITING FOR THIS LOCK TO BE GRANTED: %s\n", i+1, s.lockText(owners, w))
	}
	fmt.Fprintf(b, "*** WE ROLL BACK TRANSACTION (%d)\n", d.Victim+1)
}
