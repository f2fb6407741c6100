package replay

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/go-sql-driver/mysql"
)

// wire sends statements past the driver, which has made the connection: several at once, and their results are thrown away in the
// buffer they come in. The driver waits for each answer before it sends the next statement and makes values of every row; on a
// server that is near, that costs more than the statements.
//
// The server runs what it gets on one connection in the order it came, one after the other, so a lane's order holds (rule 7), and
// each statement is a command of its own (rule 3). Where the bytes are the driver's own affair (TLS, compression) there is no wire.
type wire struct {
	c   net.Conn
	in  *bufio.Reader
	out []byte
}

// Limits of what is on its way at once. It fits into the buffers of any socket: we never wait for room while the server waits for us.
const (
	DefaultPipeline = 16
	maxPipelined    = 16 << 10 // bytes of statements; one that is larger goes alone
	wireBuffer      = 16 << 10
)

// tap is a connection that remembers what the driver agreed on with the server.
type tap struct {
	net.Conn
	flags uint32 // capabilities, of the first packet that was written; 0 before
}

// Capabilities under which the bytes are not the plain protocol.
const (
	capCompress = 1 << 5
	capTLS      = 1 << 11
	capZstd     = 1 << 26
)

// maxPacket is the longest packet of the protocol; what is longer comes in several.
const maxPacket = 1<<24 - 1

func (t *tap) Write(b []byte) (int, error) {
	if t.flags == 0 && len(b) >= 8 {
		t.flags = binary.LittleEndian.Uint32(b[4:])
	}
	return t.Conn.Write(b)
}

// tapKey is where the context of a connect has the *tap that is filled.
type tapKey struct{}

// tapDial dials as the driver does, and taps.
func tapDial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	t := ctx.Value(tapKey{}).(*tap)
	*t = tap{Conn: c}
	return t, nil
}

// wire is the plain protocol on a tapped connection; nil where it is not plain.
func (t *tap) wire() *wire {
	if t.flags == 0 || t.flags&(capCompress|capTLS|capZstd) != 0 {
		return nil
	}
	return &wire{c: t.Conn, in: bufio.NewReaderSize(t.Conn, wireBuffer)}
}

// comQuery is the command that runs a text.
const comQuery = 3

// send writes statements, each as a command of its own.
func (w *wire) send(texts []string, patience time.Duration) error {
	if n := w.in.Buffered(); n > 0 {
		return fmt.Errorf("%w: %d bytes more than were asked for", errProtocol, n)
	}
	w.out = w.out[:0]
	for _, s := range texts {
		seq, first := byte(0), true
		for {
			n := len(s)
			if first {
				n++
			}
			n = min(n, maxPacket)
			w.out = append(w.out, byte(n), byte(n>>8), byte(n>>16), seq)
			full := n == maxPacket
			if first {
				w.out = append(w.out, comQuery)
				n--
			}
			w.out = append(w.out, s[:n]...)
			s, seq, first = s[n:], seq+1, false
			if !full {
				break
			}
		}
	}
	if err := w.c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := w.c.Write(w.out)
	if cap(w.out) > 2*maxPipelined {
		w.out = nil
	}
	return err
}

// errProtocol: what came is not the protocol, so the connection is of no use.
var errProtocol = errors.New("the answer is not understood")

// skip reads one answer and throws it away. A *mysql.MySQLError is the server's word on the statement; after any other error the
// connection is of no use.
func (w *wire) skip(l Limits, patience time.Duration) (rows, bytes int64, err error) {
	if w.in.Buffered() == 0 {
		if err := w.c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			return 0, 0, err
		}
	}
	n, head, err := w.header()
	if err != nil {
		return 0, 0, err
	}
	switch head {
	case 0x00: // no result
		return 0, 0, w.discard(n)
	case 0xff:
		return 0, 0, w.failure(n)
	case 0xfb: // the server asks for a file of ours
		return 0, 0, errProtocol
	}
	columns, err := w.columns(n)
	if err != nil {
		return 0, 0, err
	}
	for range columns {
		if n, _, err = w.header(); err == nil {
			err = w.discard(n)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	for first := true; ; first = false {
		n, head, err := w.header()
		switch {
		case err != nil:
			return rows, bytes, err
		case head == 0xff:
			return rows, bytes, w.failure(n)
		case first && head == 0xfe && n == eofLength: // behind the columns, unless that was given up
			if err := w.discard(n); err != nil {
				return rows, bytes, err
			}
			continue
		case head == 0xfe && n < maxPacket: // a value that begins so has 16 MB or more
			return rows, bytes, w.discard(n)
		}
		rows++
		bytes += int64(n)
		for ; n == maxPacket; bytes += int64(n) { // the row goes on in the next packet
			if err := w.discard(n); err != nil {
				return rows, bytes, err
			}
			if n, err = w.length(); err != nil {
				return rows, bytes, err
			}
		}
		if err := w.discard(n); err != nil {
			return rows, bytes, err
		}
		if rows > l.Rows || bytes > l.Bytes {
			return rows, bytes, errCut
		}
		if rows%rowsPerDeadline == 0 {
			if err := w.c.SetReadDeadline(time.Now().Add(patience)); err != nil {
				return rows, bytes, err
			}
		}
	}
}

// rowsPerDeadline is after how many rows patience begins anew: a result that flows is not late.
const rowsPerDeadline = 1024

// eofLength is that of a packet which only says that something ends.
const eofLength = 5

// length reads the header of a packet.
func (w *wire) length() (int, error) {
	h, err := w.in.Peek(4)
	if err != nil {
		return 0, ended(err)
	}
	n := int(h[0]) | int(h[1])<<8 | int(h[2])<<16
	w.in.Discard(4)
	return n, nil
}

// header reads the header of a packet and looks at its first byte.
func (w *wire) header() (n int, head byte, err error) {
	if n, err = w.length(); err != nil {
		return 0, 0, err
	}
	if n == 0 {
		return 0, 0, errProtocol
	}
	b, err := w.in.Peek(1)
	if err != nil {
		return 0, 0, ended(err)
	}
	return n, b[0], nil
}

func (w *wire) discard(n int) error {
	_, err := w.in.Discard(n)
	return ended(err)
}

// ended: a connection that closes in the middle of an answer is lost.
func ended(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// columns reads how many definitions of columns follow. MariaDB may tell in a byte of its own that none do, since they are known.
func (w *wire) columns(n int) (int, error) {
	b, err := w.in.Peek(min(n, 4))
	if err != nil {
		return 0, ended(err)
	}
	count, used := int(b[0]), 1
	if b[0] >= 0xfb {
		if b[0] != 0xfc || n < 3 {
			return 0, errProtocol
		}
		count, used = int(binary.LittleEndian.Uint16(b[1:])), 3
	}
	switch {
	case n > used+1:
		return 0, errProtocol
	case n == used+1 && b[used] == 0:
		count = 0
	}
	return count, w.discard(n)
}

// maxComplaint bounds the text of a server's error.
const maxComplaint = 4 << 10

// failure reads an error packet.
func (w *wire) failure(n int) error {
	if n < 3 || n > maxComplaint {
		return errProtocol
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(w.in, b); err != nil {
		return ended(err)
	}
	e := &mysql.MySQLError{Number: binary.LittleEndian.Uint16(b[1:])}
	if b = b[3:]; len(b) >= 6 && b[0] == '#' {
		copy(e.SQLState[:], b[1:6])
		b = b[6:]
	}
	e.Message = string(b)
	return e
}
