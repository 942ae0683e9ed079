package wiretest

import (
	"io"
	"net"
	"testing"

	"golang.org/x/net/http2"
)

// Frames is a connection of HTTP/2 whose server chooses each frame.
type Frames struct {
	*http2.Framer
	Conn net.Conn
}

// HTTP2 is Serve for servers of HTTP/2 without TLS. It acknowledges settings and pings. answer gets each other frame of the client.
func HTTP2(t testing.TB, settings []http2.Setting, answer func(Frames, http2.Frame)) string {
	t.Helper()
	return Serve(t, func(conn net.Conn) {
		if _, err := io.CopyN(io.Discard, conn, int64(len(http2.ClientPreface))); err != nil {
			return
		}
		f := Frames{http2.NewFramer(conn, conn), conn}
		if f.WriteSettings(settings...) != nil {
			return
		}
		for frame, err := f.ReadFrame(); err == nil; frame, err = f.ReadFrame() {
			switch frame := frame.(type) {
			case *http2.SettingsFrame:
				if !frame.IsAck() {
					_ = f.WriteSettingsAck()
				}
			case *http2.PingFrame:
				if !frame.IsAck() {
					_ = f.WritePing(true, frame.Data)
				}
			default:
				answer(f, frame)
			}
		}
	})
}
