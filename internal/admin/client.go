package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"

	"github.com/hearthdb/hearth/internal/heat"
)

// ErrNotRunning says that no process serves a data directory.
var ErrNotRunning = errors.New("nobody serves it: start the server, or let the program call ServeAdmin")

// Client steers the process that has the database in Dir open.
type Client struct{ Dir string }

// Dump writes a dump.
func (c Client) Dump(ctx context.Context, o heat.DumpOptions) (i heat.DumpInfo, err error) {
	return i, c.do(ctx, "POST", "dump", o, &i)
}

// Load begins to load a dump.
func (c Client) Load(ctx context.Context, o heat.LoadOptions) (s heat.Status, err error) {
	return s, c.do(ctx, "POST", "load", o, &s)
}

// Pause holds the load.
func (c Client) Pause(ctx context.Context) (heat.Status, error) { return c.simple(ctx, "pause") }

// Resume goes on with it.
func (c Client) Resume(ctx context.Context) (heat.Status, error) { return c.simple(ctx, "resume") }

// Cancel ends it.
func (c Client) Cancel(ctx context.Context) (heat.Status, error) { return c.simple(ctx, "cancel") }

// Status of it.
func (c Client) Status(ctx context.Context) (s heat.Status, err error) {
	return s, c.do(ctx, "GET", "status", nil, &s)
}

func (c Client) simple(ctx context.Context, what string) (s heat.Status, err error) {
	return s, c.do(ctx, "POST", what, nil, &s)
}

func (c Client) do(ctx context.Context, method, what string, in, out any) error {
	path, done, err := socketPath(c.Dir)
	if err != nil {
		return err
	}
	defer done()
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://admin/warm/"+what, body)
	if err != nil {
		return err
	}
	t := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	resp, err := t.RoundTrip(r)
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%s: %w", c.Dir, ErrNotRunning)
	} else if err != nil {
		return fmt.Errorf("%s: %w", c.Dir, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		var f failure
		if json.NewDecoder(resp.Body).Decode(&f) != nil || f.Error == "" {
			f.Error = resp.Status
		}
		return errors.New(f.Error)
	}
	return json.NewDecoder(resp.Body).Decode(out)
}
