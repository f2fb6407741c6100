package bench

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// stub is a server that speaks as much of the MySQL protocol as a replayer needs, and has the same answer to all reads. It costs as
// little as can be, so that what is measured is who asks it. It does not know SQL: it tells statements by how they begin.
type stub struct {
	l       net.Listener
	answers []stubAnswer

	conns sync.WaitGroup
	last  atomic.Uint32 // connection id

	mu   sync.Mutex
	open map[net.Conn]bool // nil: closed
}

// stubAnswer is what statements with this beginning get.
type stubAnswer struct {
	prefix []byte
	packet []byte // whole packets, numbered from 1
}

// Commands of the protocol.
const (
	comQuit   = 1
	comInitDB = 2
	comQuery  = 3
	comPing   = 14
)

// stubRow is as long as the column c of sysbench's tables.
const stubRow = "68487932199-96439406143-93774651418-41631865787-96406072701-20604855487-25459966574-28203206787-41238978918-19503783441"

func startStub() (*stub, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &stub{l: l, open: map[net.Conn]bool{}}
	add := func(prefix string, packet []byte) {
		s.answers = append(s.answers, stubAnswer{[]byte(prefix), packet})
	}
	add("SELECT c FROM", stubRows([]string{"c"}, []string{stubRow}))
	add("SET ", stubOK())
	add("USE ", stubOK())
	add("SHOW GLOBAL VARIABLES", stubRows([]string{"Variable_name", "Value"}, []string{"version", "8.0.36-stub"}, []string{"read_only", "ON"},
		[]string{"hostname", "stub"}, []string{"server_uuid", "5bd6e5c0-0000-11ef-8000-000000000001"}, []string{"max_execution_time", "0"},
		[]string{"sql_mode", ""}, []string{"transaction_read_only", "OFF"}))
	add("SHOW GRANTS", stubRows([]string{"Grants"}, []string{"GRANT SELECT ON *.* TO `reader`@`localhost`"}))
	add("SHOW GLOBAL STATUS", stubRows([]string{"Variable_name", "Value"}, []string{"Threads_running", "1"}))
	add("SHOW REPLICA STATUS", stubRows([]string{"Seconds_Behind_Source"}, []string{"0"}))
	add("SELECT CONNECTION_ID()", stubRows([]string{"id", "ro"}, []string{"1", "1"}))
	add("SELECT 'hearth replay", stubRows([]string{"canary"}, []string{"1"}))
	go s.accept()
	return s, nil
}

func (s *stub) addr() string { return s.l.Addr().String() }

func (s *stub) accept() {
	for {
		c, err := s.l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.open == nil {
			c.Close()
		} else {
			s.open[c] = true
			s.conns.Go(func() { s.serve(c) })
		}
		s.mu.Unlock()
	}
}

// close ends all connections.
func (s *stub) close() {
	s.l.Close()
	s.mu.Lock()
	for c := range s.open {
		c.Close()
	}
	s.open = nil
	s.mu.Unlock()
	s.conns.Wait()
}

func (s *stub) serve(c net.Conn) {
	defer func() {
		c.Close()
		s.mu.Lock()
		delete(s.open, c)
		s.mu.Unlock()
	}()
	if _, err := c.Write(stubPacket(0, stubGreeting(s.last.Add(1)))); err != nil {
		return
	}
	in := &stubReader{c: c, buf: make([]byte, 0, 16<<10)}
	if _, err := in.packet(); err != nil { // who it is does not matter
		return
	}
	if _, err := c.Write(stubPacket(2, stubOKBody)); err != nil {
		return
	}
	var out []byte
	for {
		p, err := in.packet()
		if err != nil || p[0] == comQuit {
			return
		}
		out = append(out, s.answer(p)...)
		if in.more() { // one write for all that came at once
			continue
		}
		if _, err := c.Write(out); err != nil {
			return
		}
		out = out[:0]
	}
}

func (s *stub) answer(p []byte) []byte {
	switch p[0] {
	case comPing, comInitDB:
		return stubOK()
	case comQuery:
		for i := range s.answers {
			if bytes.HasPrefix(p[1:], s.answers[i].prefix) {
				return s.answers[i].packet
			}
		}
	}
	return stubPacket(1, append([]byte{0xff, 0x28, 0x04}, fmt.Sprintf("#42000the stub has no answer to %.60q", p)...)) // 1064
}

// stubReader cuts packets.
type stubReader struct {
	c    net.Conn
	buf  []byte // read and not yet given
	used int
}

var errStubPacket = errors.New("empty or larger than the stub takes")

// packet is the body of the next one, valid until the next call.
func (r *stubReader) packet() ([]byte, error) {
	for {
		if have := r.buf[r.used:]; len(have) >= 4 {
			n := int(have[0]) | int(have[1])<<8 | int(have[2])<<16
			if n == 0 || n+4 > cap(r.buf) {
				return nil, errStubPacket
			}
			if len(have) >= n+4 {
				r.used += n + 4
				return have[4 : n+4], nil
			}
		}
		r.buf = append(r.buf[:0], r.buf[r.used:]...)
		r.used = 0
		n, err := r.c.Read(r.buf[len(r.buf):cap(r.buf)])
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, io.ErrNoProgress
		}
		r.buf = r.buf[:len(r.buf)+n]
	}
}

// more: the next packet has come, at least in part.
func (r *stubReader) more() bool { return r.used < len(r.buf) }

// stubPacket puts a header before a body.
func stubPacket(seq byte, body []byte) []byte {
	return append([]byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16), seq}, body...)
}

// Status and capabilities that the stub tells.
const (
	stubAutocommit   = 2
	stubCapabilities = 0x00000001 | 0x00000008 | 0x00000200 | 0x00002000 | 0x00008000 | 0x00080000 // long password, with database, 4.1, transactions, secure connection, plugin auth
	stubUTF8MB4      = 45
)

var stubOKBody = []byte{0, 0, 0, stubAutocommit, 0, 0, 0}

func stubOK() []byte { return stubPacket(1, stubOKBody) }

// stubGreeting is the handshake, version 10.
func stubGreeting(id uint32) []byte {
	b := append([]byte{10}, "8.0.36-stub\x00"...)
	b = binary.LittleEndian.AppendUint32(b, id)
	b = append(b, "saltsalt\x00"...)
	b = binary.LittleEndian.AppendUint16(b, uint16(stubCapabilities&0xffff))
	b = append(b, stubUTF8MB4)
	b = binary.LittleEndian.AppendUint16(b, stubAutocommit)
	b = binary.LittleEndian.AppendUint16(b, uint16(stubCapabilities>>16))
	b = append(b, 21)
	b = append(b, make([]byte, 10)...)
	b = append(b, "saltsaltsalt\x00"...)
	return append(b, "mysql_native_password\x00"...)
}

// stubRows is a result of text columns.
func stubRows(columns []string, rows ...[]string) []byte {
	str := func(b []byte, s string) []byte { return append(append(b, byte(len(s))), s...) } // none is longer than 250
	seq := byte(1)
	var out []byte
	put := func(body []byte) {
		out = append(out, stubPacket(seq, body)...)
		seq++
	}
	eof := []byte{0xfe, 0, 0, stubAutocommit, 0}
	put([]byte{byte(len(columns))})
	for _, c := range columns {
		var d []byte
		for _, s := range []string{"def", "sbtest", "sbtest1", "sbtest1", c, c} {
			d = str(d, s)
		}
		d = append(d, 12, stubUTF8MB4, 0)
		d = binary.LittleEndian.AppendUint32(d, 480)
		put(append(d, 0xfd, 0, 0, 0, 0, 0)) // VARCHAR
	}
	put(eof)
	for _, r := range rows {
		var d []byte
		for _, v := range r {
			d = str(d, v)
		}
		put(d)
	}
	put(eof)
	return out
}
