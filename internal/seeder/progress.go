package seeder

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive/standby"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// downloadShare is the percentage at which the download is complete and the restore begins.
const downloadShare = 70

// began starts another try, and read returns whether it has read a part of the snapshot.
func (p *progress) began()     { p.bytes.Store(0) }
func (p *progress) read() bool { return p.bytes.Load() > 0 }

func (p *progress) fetching(bytes, of int64) {
	p.bytes.Store(bytes)
	if of > 0 {
		p.fetched.Store(int32(min(downloadShare, downloadShare*bytes/of)))
	}
}

func (p *progress) restoring(data string, size int64) {
	database := filepath.Join(data+".restoring", "member", "snap", "db")
	p.fetched.Store(downloadShare)
	p.size.Store(size)
	p.database.Store(&database)
}

// percent is at most 99: at 100 percent the process has ended.
func (p *progress) percent() int32 {
	database := p.database.Load()
	if database == nil {
		return p.fetched.Load()
	}
	const share, most = 100 - downloadShare, 99
	info, err := os.Stat(*database)
	if err != nil {
		return downloadShare
	}
	return int32(min(most, downloadShare+share*info.Size()/max(p.size.Load(), 1)))
}

// following records how far a standby is.
func (p *progress) following(s standby.Status) { p.standby.Store(&s) }

// hasBase reports whether a standby has read a base, so that it can be promoted.
func (p *progress) hasBase() bool {
	s := p.standby.Load()
	return s != nil && s.Base != ""
}

// waits records what a planned promotion waits for.
func (p *progress) waits(what string) { p.waiting.Store(&what) }

// promoting ends the following.
func (p *progress) promoting() { p.standby.Store(nil) }

// report returns what the seed serves.
func (p *progress) report(now time.Time) seed.Progress {
	said := seed.Progress{Percent: p.percent()}
	s := p.standby.Load()
	if s == nil {
		return said
	}
	said.Following = &seed.Following{Timeline: int64(s.Timeline), Revision: s.Revision, Time: s.At.UTC(), Authentication: s.Auth.Enabled == auth.On}
	if s.Base != "" {
		said.Following.LagSeconds = int64(s.Lag(now).Seconds())
	}
	if waiting := p.waiting.Load(); waiting != nil {
		said.Following.Message = planning.Shorten(*waiting, seed.MaxMessage)
	}
	if s.Err != nil {
		said.Following.Message = planning.Shorten(s.Err.Error(), seed.MaxMessage)
	}
	if broken := standby.IsBroken(s.Err); broken != nil {
		said.Following.Cause = string(broken.Cause)
	}
	return said
}

// fetching returns a callback that records the progress of a download and logs it every progressInterval.
func (s *Seeder) fetching() source.Progress {
	last := time.Now()
	return func(bytes, of int64) {
		s.progress.fetching(bytes, of)
		if time.Since(last) >= progressInterval {
			last = time.Now()
			s.Log.Info("fetching the snapshot", "bytes", bytes, "of", of)
		}
	}
}

// serve serves the progress until stop is called. If the port is not available, the restore continues without it.
func (s *Seeder) serve(address string) (stop func()) {
	listener, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(int(seed.ProgressPort)))) //nolint:noctx // listening on a local port does not block
	if err != nil {
		s.Log.Info("cannot serve the progress; it is only logged", "error", err.Error())
		return func() {}
	}
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: time.Second, WriteTimeout: time.Second, MaxHeaderBytes: 1 << 12}
	go func() { _ = server.Serve(listener) }() // returns after Close
	return func() {
		if err := server.Close(); err != nil {
			s.Log.Info("cannot close the progress server", "error", err.Error())
		}
	}
}

func (s *Seeder) handler() http.Handler {
	handler := http.NewServeMux()
	handler.HandleFunc("GET "+seed.ProgressPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(s.progress.report(time.Now())); err != nil {
			s.Log.Info("cannot send the progress", "error", err.Error())
		}
	})
	return handler
}
