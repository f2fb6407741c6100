package server

import (
	"net"
	"os"
	"strings"
)

// notify tells the service manager how the server is, if one asked for that (NOTIFY_SOCKET): "READY=1", "STOPPING=1",
// "STATUS=...". It is a datagram, and nobody waits for it.
func notify(lines ...string) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return
	}
	defer c.Close()
	c.Write([]byte(strings.Join(lines, "\n")))
}
