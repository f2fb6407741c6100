package server

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// rawClient speaks the protocol packet by packet: what drivers do not do (cursors, half a packet, a wrong number) it does.
type rawClient struct {
	t   testing.TB
	net net.Conn
	in  *bufio.Reader
	seq byte
}

// Bits and commands of the protocol that the tests use.
const (
	flagProtocol41  = 0x200
	flagSecure      = 0x8000
	flagPluginAuth  = 0x80000
	flagMulti       = 0x10000
	flagDeprecate   = 0x1000000
	cmdQuit         = 0x01
	cmdInitDB       = 0x02
	cmdPing         = 0x0e
	cmdStmtSendLong = 0x18
	cmdStmtReset    = 0x1a
	cmdStmtFetch    = 0x1c
	cmdReset        = 0x1f
	cursorReadOnly  = 1
)

// rawDial connects without a word.
func rawDial(t testing.TB, s *Server) *rawClient {
	t.Helper()
	a := s.Addr()
	c, err := net.Dial(a.Network(), a.String())
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(5 * time.Minute))
	t.Cleanup(func() { c.Close() })
	return &rawClient{t: t, net: c, in: bufio.NewReader(c)}
}

// rawLogin connects as root without a password.
func rawLogin(t testing.TB, s *Server, flags uint32) *rawClient {
	t.Helper()
	c := rawDial(t, s)
	if greeting := c.must(c.read()); greeting[0] != protocolVersion {
		t.Fatalf("greeting: %q", greeting)
	}
	c.write(helloPacket("root", flags))
	if b := c.must(c.read()); b[0] != 0 {
		t.Fatalf("login: %q", b)
	}
	return c
}

func helloPacket(user string, flags uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, flagProtocol41|flagSecure|flagPluginAuth|flagDeprecate|flags)
	b = binary.LittleEndian.AppendUint32(b, 1<<24)
	b = append(b, 45)
	b = append(b, make([]byte, 23)...)
	b = append(b, user...)
	b = append(b, 0, 0) // end of the name, empty answer
	return append(b, "mysql_native_password\x00"...)
}

func (c *rawClient) must(b []byte, err error) []byte {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
	return b
}

// read one packet.
func (c *rawClient) read() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.LittleEndian.Uint32(head[:])&0xffffff)
	c.seq = head[3] + 1
	_, err := io.ReadFull(c.in, b)
	return b, err
}

// write one packet with the next number.
func (c *rawClient) write(b []byte) {
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(b)))
	head[3] = c.seq
	c.seq++
	c.net.Write(append(head, b...))
}

// command sends a new command.
func (c *rawClient) command(kind byte, body string) {
	c.seq = 0
	c.write(append([]byte{kind}, body...))
}

// lenenc reads a length-encoded string; ok is false for NULL.
func lenenc(b []byte) (s, rest []byte, ok bool) {
	switch b[0] {
	case 0xfb:
		return nil, b[1:], false
	case 0xfc:
		n := int(b[1]) | int(b[2])<<8
		return b[3 : 3+n], b[3+n:], true
	}
	n := int(b[0])
	return b[1 : 1+n], b[1+n:], true
}

// prepare a statement and return its id.
func (c *rawClient) prepare(text string) (id uint32, params int) {
	c.t.Helper()
	c.command(comStmtPrepare, text)
	b := c.must(c.read())
	if b[0] != 0 {
		c.t.Fatalf("prepare %s: %q", text, b)
	}
	id = binary.LittleEndian.Uint32(b[1:])
	columns, n := int(b[5])|int(b[6])<<8, int(b[7])|int(b[8])<<8
	for range columns + n {
		c.must(c.read())
	}
	return id, n
}

// open a cursor of a statement without parameters. It returns the number of columns, or the error packet.
func (c *rawClient) open(id uint32) (columns int, refused []byte) {
	c.t.Helper()
	body := binary.LittleEndian.AppendUint32(nil, id)
	body = append(body, cursorReadOnly, 1, 0, 0, 0)
	c.command(comStmtExecute, string(body))
	b := c.must(c.read())
	if b[0] == 0xff {
		return 0, b
	}
	if columns = int(b[0]); columns == 0 {
		return 0, nil // no rows, no cursor
	}
	for range columns {
		c.must(c.read())
	}
	c.must(c.read()) // end of the fields, with the flag of the cursor
	return columns, nil
}

// fetch rows of a cursor, each as its raw packet.
func (c *rawClient) fetch(id uint32, n int) (rows [][]byte, last bool) {
	c.t.Helper()
	body := binary.LittleEndian.AppendUint32(nil, id)
	c.command(cmdStmtFetch, string(binary.LittleEndian.AppendUint32(body, uint32(n))))
	for {
		b := c.must(c.read())
		if b[0] == 0xff {
			c.t.Fatalf("fetch: %q", b)
		}
		if b[0] == 0xfe && len(b) < 9 {
			return rows, b[3]&0x80 != 0
		}
		rows = append(rows, b)
	}
}

// query runs a statement whose rows it returns as text; an error packet is an error.
func (c *rawClient) query(text string) (rows [][]string, err error) {
	c.t.Helper()
	c.command(comQuery, text)
	return c.result()
}

func (c *rawClient) result() (rows [][]string, err error) {
	c.t.Helper()
	b, err := c.read()
	if err != nil {
		return nil, err
	}
	switch b[0] {
	case 0xff:
		return nil, rawError(b)
	case 0:
		return nil, nil
	}
	columns := int(b[0])
	for range columns {
		if _, err := c.read(); err != nil {
			return nil, err
		}
	}
	for {
		b, err := c.read()
		if err != nil {
			return rows, err
		}
		switch {
		case b[0] == 0xff:
			return rows, rawError(b)
		case b[0] == 0xfe && len(b) < 9:
			return rows, nil
		}
		row := make([]string, columns)
		for i := range row {
			var v []byte
			v, b, _ = lenenc(b)
			row[i] = string(v)
		}
		rows = append(rows, row)
	}
}

// rawError is an error packet.
type rawError []byte

func (e rawError) number() int { return int(e[1]) | int(e[2])<<8 }

func (e rawError) Error() string { return fmt.Sprintf("%d %s", e.number(), e[3:]) }
