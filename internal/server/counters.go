package server

import "sync/atomic"

// counters of one session, or of all that have ended. A session's are written by its own goroutine and read by others.
type counters struct {
	questions     atomic.Uint64 // statements that clients sent
	queries       atomic.Uint64 // the same, with preparing and closing
	slow          atomic.Uint64
	errors        atomic.Uint64
	rowsSent      atomic.Uint64
	rowsExamined  atomic.Uint64
	com           [comKinds]atomic.Uint64
	received      atomic.Uint64 // bytes, of ended sessions
	sent          atomic.Uint64
	abortedClient atomic.Uint64
}

// fold adds another's.
func (c *counters) fold(o *counters) {
	c.questions.Add(o.questions.Load())
	c.queries.Add(o.queries.Load())
	c.slow.Add(o.slow.Load())
	c.errors.Add(o.errors.Load())
	c.rowsSent.Add(o.rowsSent.Load())
	c.rowsExamined.Add(o.rowsExamined.Load())
	for i := range c.com {
		if n := o.com[i].Load(); n != 0 {
			c.com[i].Add(n)
		}
	}
	c.abortedClient.Add(o.abortedClient.Load())
}

// Counters are what a server has done since its start. They are not read at one moment.
type Counters struct {
	Questions   uint64            // statements that clients sent
	Queries     uint64            // the same, with preparing and closing of statements
	Com         map[string]uint64 // statements by kind: "select" is Com_select
	SlowQueries uint64            // statements that took long_query_time or longer
	Errors      uint64            // statements that failed

	RowsSent, RowsExamined   uint64
	BytesReceived, BytesSent uint64

	Connections      uint64 // attempts to connect
	AbortedConnects  uint64 // of them those that failed
	AbortedClients   uint64 // connections that did not end with a goodbye
	RefusedFull      uint64 // attempts that max_connections refused
	ThreadsConnected uint64
	ThreadsRunning   uint64 // statements that run now
	MaxUsed          uint64 // the most connections at a time
	PreparedCount    uint64 // prepared statements that are open
}

// Counters takes a look around.
func (s *Server) Counters() Counters {
	var sum counters
	s.clients.mu.Lock()
	sum.fold(&s.clients.ended)
	received, sent := s.clients.ended.received.Load(), s.clients.ended.sent.Load()
	for _, cl := range s.clients.byID {
		sum.fold(&cl.counters)
		received += cl.wire.received.Load()
		sent += cl.wire.sent.Load()
	}
	connected := len(s.clients.byID)
	s.clients.mu.Unlock()
	c := sum.public()
	c.BytesReceived, c.BytesSent = received, sent
	c.ThreadsConnected = uint64(connected)
	c.ThreadsRunning = uint64(max(0, s.running.Load()))
	c.MaxUsed = uint64(s.clients.last.Load())
	c.Connections = s.connections.Load()
	c.AbortedConnects = s.abortedConnects.Load()
	c.RefusedFull = s.refusedFull.Load()
	c.PreparedCount = uint64(max(0, s.preparedCount.Load()))
	return c
}

// SessionCounters are those of one connection; false if there is none of that id.
func (s *Server) SessionCounters(id uint32) (Counters, bool) {
	cl := s.clients.get(id)
	if cl == nil {
		return Counters{}, false
	}
	c := cl.counters.public()
	c.BytesReceived, c.BytesSent = cl.wire.received.Load(), cl.wire.sent.Load()
	return c, true
}

func (c *counters) public() Counters {
	p := Counters{
		Questions:      c.questions.Load(),
		Queries:        c.queries.Load(),
		SlowQueries:    c.slow.Load(),
		Errors:         c.errors.Load(),
		RowsSent:       c.rowsSent.Load(),
		RowsExamined:   c.rowsExamined.Load(),
		AbortedClients: c.abortedClient.Load(),
		Com:            make(map[string]uint64, comKinds),
	}
	for i := range c.com {
		p.Com[comNames[i]] = c.com[i].Load()
	}
	return p
}
