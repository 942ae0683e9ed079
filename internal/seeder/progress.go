package seeder

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// downloadShare is how many of a hundred percent the download is taken for.
const downloadShare = 70

// progress is how far a Seeder is. The zero value has not begun.
type progress struct {
	fetched atomic.Int32
	// database is the file that the restore makes, and size what it will have.
	database atomic.Pointer[string]
	size     atomic.Int64
}

func (p *progress) fetching(bytes, of int64) {
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

// percent is below 100 as long as the work is not done.
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

// fetching tells of a download, in the log from time to time.
func (s *Seeder) fetching() source.Progress {
	last := time.Now()
	return func(bytes, of int64) {
		s.progress.fetching(bytes, of)
		if time.Since(last) >= progressInterval {
			last = time.Now()
			s.Log.Info("fetching", "bytes", bytes, "of", of)
		}
	}
}

// serve answers on the port of progress until stop is called. A port that cannot be had costs the percents only.
func (s *Seeder) serve() (stop func()) {
	listener, err := net.Listen("tcp", ":"+strconv.Itoa(int(seed.ProgressPort))) //nolint:noctx // it listens at once or not at all
	if err != nil {
		s.Log.Info("progress is told in the log only", "error", err.Error())
		return func() {}
	}
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: time.Second, WriteTimeout: time.Second, MaxHeaderBytes: 1 << 12}
	go func() { _ = server.Serve(listener) }() // it ends with Close
	return func() {
		if err := server.Close(); err != nil {
			s.Log.Info(fmt.Sprintf("close the port of progress: %v", err))
		}
	}
}

// handler answers one question.
func (s *Seeder) handler() http.Handler {
	handler := http.NewServeMux()
	handler.HandleFunc("GET "+seed.ProgressPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(seed.Progress{Percent: s.progress.percent()}); err != nil {
			s.Log.Info("tell progress", "error", err.Error())
		}
	})
	return handler
}
