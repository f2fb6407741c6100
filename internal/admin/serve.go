package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/hearthdb/hearth/internal/heat"
)

const (
	// maxRequest bounds a request, in bytes.
	maxRequest = 1 << 20
	// closeWait is how long requests under way may take when the server ends.
	closeWait = time.Second
)

// Serve answers requests in dir until ctx ends.
func Serve(ctx context.Context, dir string, w Warmth) error {
	path, done, err := socketPath(dir)
	if err != nil {
		return err
	}
	defer done()
	l, err := listen(path)
	if err != nil {
		return fmt.Errorf("serve %s: %w", SocketName, err)
	}
	s := &http.Server{Handler: handler(w), BaseContext: func(net.Listener) context.Context { return ctx }, ReadHeaderTimeout: 10 * time.Second}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		last, cancel := context.WithTimeout(context.Background(), closeWait)
		defer cancel()
		if s.Shutdown(last) != nil {
			s.Close()
		}
	}()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-stopped
	return nil
}

// listen is rules 1 and 2. Closing the listener removes the socket.
func listen(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func handler(w Warmth) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /warm/status", func(rw http.ResponseWriter, _ *http.Request) { answer(rw, w.Status(), nil) })
	mux.HandleFunc("POST /warm/dump", func(rw http.ResponseWriter, r *http.Request) {
		var o heat.DumpOptions
		if !ask(rw, r, &o) {
			return
		}
		i, err := w.Dump(r.Context(), o)
		answer(rw, i, err)
	})
	mux.HandleFunc("POST /warm/load", func(rw http.ResponseWriter, r *http.Request) {
		var o heat.LoadOptions
		if !ask(rw, r, &o) {
			return
		}
		err := w.Load(r.Context(), o)
		answer(rw, w.Status(), err)
	})
	for name, do := range map[string]func(){"pause": w.Pause, "resume": w.Resume, "cancel": w.Cancel} {
		mux.HandleFunc("POST /warm/"+name, func(rw http.ResponseWriter, _ *http.Request) {
			do()
			answer(rw, w.Status(), nil)
		})
	}
	return mux
}

// ask reads a request; an empty one asks for nothing special.
func ask(rw http.ResponseWriter, r *http.Request, v any) bool {
	d := json.NewDecoder(http.MaxBytesReader(rw, r.Body, maxRequest))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil && !errors.Is(err, io.EOF) {
		rw.WriteHeader(http.StatusBadRequest)
		json.NewEncoder(rw).Encode(failure{"request: " + err.Error()})
		return false
	}
	return true
}

func answer(rw http.ResponseWriter, v any, err error) {
	rw.Header().Set("Content-Type", "application/json")
	if err != nil {
		rw.WriteHeader(http.StatusConflict)
		v = failure{err.Error()}
	}
	json.NewEncoder(rw).Encode(v)
}
