package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dolthub/vitess/go/mysql"
)

// wire carries the packets of one client between its socket and the protocol library, which sees a net.Conn without TLS.
//
// The library trusts what it is sent: it reads packets of any size, drops a connection where MySQL sends an error, and
// knows passwords only under a TLS of its own. So everything goes through here first: TLS ends here, packets are counted,
// bounded and timed, and both authentication (auth.go) and a statement that fails while its rows are on their way (result.go)
// can speak to the client past the library.
//
// While the connection is being made, packets stand whole in memory and get the sequence number the other side expects,
// which differs when TLS or authentication had packets of their own. After it they stream through.
//
// Reads and writes come from the goroutine that serves the connection, or from one that it waits for; kill and bytes may be
// called by anybody.
type wire struct {
	raw   net.Conn
	local bool // a unix socket
	tls   *tls.Conn
	in    *bufio.Reader
	out   *bufio.Writer
	rules wireRules

	// Reading.
	head     [4]byte // of the packet that is handed over
	headLeft int     // bytes of head to hand over
	left     int     // bytes of the body to hand over
	held     []byte  // the body, while the connection is made
	size     int64   // of the packet so far: a packet longer than maxChunk comes in chunks
	chunked  bool    // another chunk follows
	readBy   time.Time

	// Writing.
	partial []byte // of a packet that the library has not written whole, while the connection is made
	outHead [4]byte
	outGot  int
	outLeft int
	info    int // length of the text at the end of the next packet, see textInOK
	writeBy time.Time

	seq     uint8 // of the next packet on the wire
	inner   uint8 // of the next packet as the library counts, while the connection is made
	greeted bool
	asked   bool // the client has answered the greeting
	trusted bool // the client is who it says; from its next packet on it sends commands
	serving bool // commands come in
	mute    bool // the client has had its answer; what the library still says about this command is dropped

	command  byte
	cursor   bool // the command wants a cursor
	file     bool // the client is sending a file: packets belong to the running command
	quit     bool // the client said goodbye
	timedOut bool

	interactive bool
	closed      sync.Once
	killed      atomic.Bool
	received    atomic.Uint64
	sent        atomic.Uint64

	text string // of the command that prepares a statement, see look

	dropped    func(statement uint32)  // COM_STMT_CLOSE, of which the library tells nobody
	statistics func() string           // the answer to COM_STATISTICS, which the library does not know
	changeUser func(body []byte) error // COM_CHANGE_USER, which it does not know either

	admin func(name string, began time.Time, told *mysql.SQLError) // a command that is no statement
}

// wireRules are the bounds of one connection.
type wireRules struct {
	tls         *tls.Config   // nil: not offered
	tlsRequired bool          // but on a unix socket
	connect     time.Duration // for all of the handshake
	idle        time.Duration // between commands: wait_timeout
	read, write time.Duration // for the next piece of a packet: net_read_timeout, net_write_timeout
	maxPacket   int64         // bytes of a packet: max_allowed_packet
}

const (
	maxChunk       = 1<<24 - 1 // a body this long goes on in the next packet
	maxHelloPacket = 64 << 10  // bytes of a packet from somebody who is not yet known
	wireReadBytes  = 4 << 10
	wireWriteBytes = 8 << 10

	capabilitySSL         = 0x800
	capabilityInteractive = 0x400

	comQuit        = 0x01
	comQuery       = 0x03
	comRefresh     = 0x07
	comStatistics  = 0x09
	comProcessKill = 0x0c
	comPing        = 0x0e
	comChangeUser  = 0x11
	comStmtPrepare = 0x16
	comStmtExecute = 0x17
	comStmtClose   = 0x19
	comStmtReset   = 0x1a
	comReset       = 0x1f

	refreshLog = 0x02 // of COM_REFRESH

	sslRequestBytes = 32
	tooLargeDrain   = 256 << 20       // bytes of a packet that is too large that are read before the connection closes
	drainTime       = 5 * time.Second // and for how long
	lastWords       = 2 * time.Second // for what is left to write when a connection closes
)

// adminNames are the commands that are neither statements nor about one, as MySQL calls them in its log.
var adminNames = [256]string{
	comQuit: "Quit", comStatistics: "Statistics", comPing: "Ping", comChangeUser: "Change user", comStmtClose: "Close stmt",
	comStmtReset: "Reset stmt", comReset: "Reset Connection",
}

var errWireKilled = errors.New("the connection was killed")

func newWire(raw net.Conn, rules wireRules) *wire {
	_, local := raw.(*net.UnixConn)
	w := &wire{raw: raw, local: local, rules: rules}
	w.in = bufio.NewReaderSize(raw, wireReadBytes)
	w.out = bufio.NewWriterSize(wireWriter{w}, wireWriteBytes)
	raw.SetDeadline(time.Now().Add(rules.connect))
	return w
}

// wireWriter puts bytes on the socket, with TLS if there is some, within the write timeout.
type wireWriter struct{ w *wire }

func (x wireWriter) Write(p []byte) (int, error) {
	w := x.w
	if w.serving {
		if now := time.Now(); now.Sub(w.writeBy) > -w.rules.write+w.rules.write/8 && !w.killed.Load() {
			w.writeBy = now.Add(w.rules.write)
			w.raw.SetWriteDeadline(w.writeBy)
		}
	}
	w.sent.Add(uint64(len(p)))
	if w.tls != nil {
		return w.tls.Write(p)
	}
	return w.raw.Write(p)
}

// Read hands over the client's packets, no more than one at a time.
func (w *wire) Read(p []byte) (int, error) {
	if w.headLeft == 0 && w.left == 0 {
		if err := w.nextPacket(); err != nil {
			return 0, err
		}
	}
	if w.headLeft > 0 {
		n := copy(p, w.head[len(w.head)-w.headLeft:])
		w.headLeft -= n
		return n, nil
	}
	if w.held != nil {
		n := copy(p, w.held[len(w.held)-w.left:])
		w.left -= n
		return n, nil
	}
	if w.in.Buffered() == 0 {
		if err := w.patience(w.rules.read); err != nil {
			return 0, err
		}
	}
	n, err := w.in.Read(p[:min(len(p), w.left)])
	w.left -= n
	return n, err
}

// nextPacket reads the head of the next packet, and all of it while the connection is made.
func (w *wire) nextPacket() error {
	if err := w.out.Flush(); err != nil {
		return err
	}
	if w.trusted {
		w.serving, w.held = true, nil
		return w.nextChunk()
	}
	body, err := w.hear()
	if err != nil {
		return err
	}
	if !w.asked {
		if body, err = w.hello(body); err != nil {
			return err
		}
		w.asked = true
	}
	w.held, w.left = body, len(body)
	w.setHead(len(body), w.inner)
	w.inner++
	return nil
}

func (w *wire) setHead(size int, seq uint8) {
	binary.LittleEndian.PutUint32(w.head[:], uint32(size)|uint32(seq)<<24)
	w.headLeft = len(w.head)
}

// nextChunk reads the head of a command, or of what belongs to one.
func (w *wire) nextChunk() error {
	begins := !w.chunked && !w.file
	wait := w.rules.read
	if begins {
		wait = w.rules.idle
	}
	if w.in.Buffered() < len(w.head) {
		if err := w.patience(wait); err != nil {
			return err
		}
	}
	if _, err := io.ReadFull(w.in, w.head[:]); err != nil {
		return w.readError(err, begins)
	}
	w.headLeft = len(w.head)
	w.left = int(binary.LittleEndian.Uint32(w.head[:]) & maxChunk)
	w.received.Add(uint64(len(w.head) + w.left))
	w.seq = w.head[3] + 1
	if !w.chunked {
		w.size = 0
	}
	w.chunked = w.left == maxChunk
	if w.size += int64(w.left); w.size > w.rules.maxPacket {
		return w.tooLarge()
	}
	if !begins {
		return nil
	}
	w.mute, w.cursor = false, false
	if w.left == 0 {
		return errors.New("a command without a byte")
	}
	return w.look()
}

// look learns what the command is, before the library does. Some it answers or translates here.
//
// A statement to prepare is not shown to the library, which would parse it with a grammar that lacks what our parser adds, count
// its parameters wrongly and answer errors of the parser as unknown ones. It gets a statement that it understands, and the
// handler takes the true one from here.
func (w *wire) look() error {
	b, err := w.peek(1)
	if err != nil {
		return err
	}
	w.command = b[0]
	if name := adminNames[w.command]; name != "" {
		w.admin(name, time.Now(), nil)
	}
	switch w.command {
	case comQuit:
		w.quit = true
	case comStmtExecute:
		if b, err = w.peek(6); err == nil {
			w.cursor = b[5] != 0
		}
	case comStmtClose:
		if b, err = w.peek(5); err == nil {
			w.dropped(binary.LittleEndian.Uint32(b[1:]))
		}
	case comStmtPrepare:
		if b, err = w.whole(); err == nil {
			w.text = string(b[1:])
			w.hand(append([]byte{comStmtPrepare}, "SELECT 1"...))
		}
	case comProcessKill:
		if b, err = w.whole(); err == nil && len(b) == 5 {
			w.hand(fmt.Appendf([]byte{comQuery}, "KILL %d", binary.LittleEndian.Uint32(b[1:])))
		}
	case comRefresh:
		if b, err = w.whole(); err == nil && len(b) == 2 {
			what := "TABLES"
			if b[1]&refreshLog != 0 {
				what = "LOGS"
			}
			w.hand(append([]byte{comQuery}, "FLUSH "+what...))
		}
	case comChangeUser:
		if b, err = w.whole(); err == nil {
			err = w.changeUser(b[1:])
		}
		if err == nil {
			err = w.nextCommand()
		}
	case comStatistics:
		if _, err = w.whole(); err == nil {
			err = w.say([]byte(w.statistics()))
		}
		if err == nil {
			err = w.nextCommand()
		}
	}
	return err
}

// nextCommand goes on to the next one: this was answered here.
func (w *wire) nextCommand() error {
	if err := w.out.Flush(); err != nil {
		return err
	}
	return w.nextChunk()
}

// peek at the first n bytes of the packet, or at all it has, if that is less: the library refuses it then.
func (w *wire) peek(n int) ([]byte, error) {
	if w.left < n {
		return make([]byte, n), nil
	}
	if w.in.Buffered() < n {
		if err := w.patience(w.rules.read); err != nil {
			return nil, err
		}
	}
	b, err := w.in.Peek(n)
	if err != nil {
		return nil, w.readError(err, false)
	}
	return b, nil
}

// whole reads the packet with all its chunks.
func (w *wire) whole() ([]byte, error) {
	var body []byte
	for {
		at := len(body)
		body = append(body, make([]byte, w.left)...)
		for at < len(body) {
			if err := w.patience(w.rules.read); err != nil {
				return nil, err
			}
			n, err := w.in.Read(body[at:])
			if err != nil {
				return nil, w.readError(err, false)
			}
			at += n
		}
		w.left, w.headLeft = 0, 0
		if !w.chunked {
			return body, nil
		}
		if err := w.nextChunk(); err != nil {
			return nil, err
		}
	}
}

// hand gives the library a command in place of the client's.
func (w *wire) hand(body []byte) {
	w.held, w.left = body, len(body)
	w.setHead(len(body), 0)
}

// patience sets how long to wait for the client, and lets a kill that came meanwhile win. The deadline may come up to an
// eighth too early, so that it need not be set for each packet.
func (w *wire) patience(wait time.Duration) error {
	if now := time.Now(); w.readBy.Sub(now) < wait-wait/8 || w.readBy.Sub(now) > wait {
		w.readBy = now.Add(wait)
		w.raw.SetReadDeadline(w.readBy)
	}
	if w.killed.Load() {
		return errWireKilled
	}
	return nil
}

// readError says goodbye to a client that was idle for too long.
func (w *wire) readError(err error, idle bool) error {
	switch {
	case w.killed.Load():
		return errWireKilled
	case idle && errors.Is(err, os.ErrDeadlineExceeded):
		w.timedOut = true
		w.seq = 0
		w.tell(errClientTimeout)
	}
	return err
}

// tooLarge refuses a packet. Its rest is read, for a while, since a client that is still sending would not see the answer.
func (w *wire) tooLarge() error {
	w.raw.SetReadDeadline(time.Now().Add(drainTime))
	io.CopyN(io.Discard, w.in, min(tooLargeDrain, int64(w.left)))
	w.tell(errPacketTooLarge)
	return fmt.Errorf("a packet of more than max_allowed_packet (%d bytes)", w.rules.maxPacket)
}

// hear reads one whole packet of a client that is not yet known.
func (w *wire) hear() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(w.in, head[:]); err != nil {
		return nil, err
	}
	if head[3] != w.seq {
		w.tell(errPacketOrder)
		return nil, fmt.Errorf("packet %d came where %d was due", head[3], w.seq)
	}
	w.seq++
	n := int(binary.LittleEndian.Uint32(head[:]) & maxChunk)
	if n > maxHelloPacket {
		w.tell(errPacketTooLarge)
		return nil, fmt.Errorf("a packet of %d bytes before the client is known, at most %d", n, maxHelloPacket)
	}
	body := make([]byte, n)
	_, err := io.ReadFull(w.in, body)
	w.received.Add(uint64(len(head) + n))
	return body, err
}

// hello looks at the client's answer to the greeting. If it asks for TLS, this is where it begins.
func (w *wire) hello(body []byte) ([]byte, error) {
	if len(body) < 4 {
		return nil, fmt.Errorf("the answer to the greeting has %d bytes", len(body))
	}
	flags := binary.LittleEndian.Uint32(body)
	if flags&capabilitySSL != 0 && len(body) == sslRequestBytes {
		if w.rules.tls == nil {
			return nil, errors.New("the client wants TLS, which was not offered")
		}
		if err := w.secure(); err != nil {
			return nil, fmt.Errorf("TLS: %w", err)
		}
		var err error
		if body, err = w.hear(); err != nil {
			return nil, err
		}
		if len(body) < 4 {
			return nil, fmt.Errorf("the answer to the greeting has %d bytes", len(body))
		}
		flags = binary.LittleEndian.Uint32(body)
	}
	if w.rules.tlsRequired && w.tls == nil && !w.local {
		w.tell(errTLSRequired)
		return nil, errors.New("the client does not use TLS, which is required")
	}
	w.interactive = flags&capabilityInteractive != 0
	// The library must not look for a TLS of its own.
	binary.LittleEndian.PutUint32(body, flags&^capabilitySSL)
	return body, nil
}

// secure puts TLS under all that follows. What the client has sent behind its request is part of it.
func (w *wire) secure() error {
	w.tls = tls.Server(bufferedConn{w.raw, w.in}, w.rules.tls)
	ctx, cancel := context.WithTimeout(context.Background(), w.rules.connect)
	defer cancel()
	if err := w.tls.HandshakeContext(ctx); err != nil {
		return err
	}
	w.in = bufio.NewReaderSize(w.tls, wireReadBytes)
	return nil
}

// bufferedConn is a connection of which something was read ahead.
type bufferedConn struct {
	net.Conn
	r *bufio.Reader
}

func (c bufferedConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// Write sends what the library says.
func (w *wire) Write(p []byte) (int, error) {
	switch {
	case w.mute:
		return len(p), nil
	case w.serving:
		w.follow(p)
		return w.out.Write(p)
	}
	w.partial = append(w.partial, p...)
	for len(w.partial) >= 4 {
		n := int(binary.LittleEndian.Uint32(w.partial) & maxChunk)
		if len(w.partial) < 4+n {
			break
		}
		packet := w.partial[:4+n]
		if !w.greeted {
			w.greeted = true
			w.offerTLS(packet[4:])
		}
		packet[3] = w.seq
		w.seq++
		w.inner++
		if _, err := w.out.Write(packet); err != nil {
			return 0, err
		}
		w.partial = w.partial[4+n:]
	}
	return len(p), nil
}

// textInOK says that the next packet is an OK with a text of that length. The library writes a '#' where the length belongs:
// clients take it for 35, find a packet that is too short, or half a text. The packet must not be behind others in a buffer.
func (w *wire) textInOK(length int) { w.info = length }

// patchInfo mends the packet whose body this is, if it is an OK with a text.
func (w *wire) patchInfo(body []byte) {
	if w.info == 0 {
		return
	}
	const longest = 250 // that has its length in one byte
	if at := len(body) - w.info - 1; len(body) == w.outLeft && at > 0 && w.info <= longest && body[at] == '#' {
		body[at] = byte(w.info)
	}
	w.info = 0
}

// follow keeps the sequence number of what streams through.
func (w *wire) follow(p []byte) {
	for len(p) > 0 {
		if w.outLeft > 0 {
			n := min(w.outLeft, len(p))
			w.patchInfo(p[:n])
			w.outLeft -= n
			p = p[n:]
			continue
		}
		n := copy(w.outHead[w.outGot:], p)
		w.outGot += n
		p = p[n:]
		if w.outGot == len(w.outHead) {
			w.outGot = 0
			w.outLeft = int(binary.LittleEndian.Uint32(w.outHead[:]) & maxChunk)
			w.seq = w.outHead[3] + 1
		}
	}
}

// offerTLS sets the capability in the greeting: version, name of the server up to a zero byte, connection id (4), salt (8), a
// zero, capabilities (2).
func (w *wire) offerTLS(greeting []byte) {
	if w.rules.tls == nil || len(greeting) == 0 || greeting[0] != protocolVersion {
		return
	}
	for i := 1; i < len(greeting); i++ {
		if greeting[i] != 0 {
			continue
		}
		if at := i + 1 + 4 + 8 + 1; at+2 <= len(greeting) {
			c := binary.LittleEndian.Uint16(greeting[at:])
			binary.LittleEndian.PutUint16(greeting[at:], c|capabilitySSL)
		}
		return
	}
}

const protocolVersion = 10

// say sends a packet past the library, which does not count it.
func (w *wire) say(body []byte) error {
	var head [4]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(body))|uint32(w.seq)<<24)
	w.seq++
	w.out.Write(head[:])
	w.out.Write(body)
	return w.out.Flush()
}

// tell sends an error past the library, and mutes it until the next command.
func (w *wire) tell(e *mysql.SQLError) error {
	err := w.say(errPacket(e))
	w.mute = true
	return err
}

// limits sets the bounds of a client that is known now.
func (w *wire) limits(idle, read, write time.Duration, maxPacket int64) {
	w.rules.idle, w.rules.read, w.rules.write, w.rules.maxPacket = idle, read, write, maxPacket
}

// kill ends the connection: at once if the client is idle, else as soon as its statement, which the caller has stopped, has
// told it so.
func (w *wire) kill() {
	w.killed.Store(true)
	w.raw.SetReadDeadline(time.Unix(1, 0))
	w.raw.SetWriteDeadline(time.Now().Add(lastWords))
}

// Close sends what was written and closes the socket.
func (w *wire) Close() (err error) {
	w.closed.Do(func() {
		w.raw.SetDeadline(time.Now().Add(lastWords))
		w.out.Flush()
		if w.tls != nil {
			w.tls.Close()
		}
		err = w.raw.Close()
	})
	return err
}

func (w *wire) LocalAddr() net.Addr  { return w.raw.LocalAddr() }
func (w *wire) RemoteAddr() net.Addr { return w.raw.RemoteAddr() }

// The library sets no deadlines: it is not told of timeouts.
func (w *wire) SetDeadline(time.Time) error      { return nil }
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }
