package etcd

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/etcd-suite/etcd-operator/internal/wiretest"
)

// hostileHeaders is a member that answers each call with 15 MiB of headers, and then nothing.
func hostileHeaders(t *testing.T, fields int) string {
	t.Helper()
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	_ = e.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
	_ = e.WriteField(hpack.HeaderField{Name: "content-type", Value: "application/grpc"})
	for range fields {
		_ = e.WriteField(hpack.HeaderField{Name: "a", Value: strings.Repeat("~", 15<<10), Sensitive: true}) // not compressed
	}
	t.Logf("%d header fields are %d KiB on the wire", fields, block.Len()>>10)
	return "http://" + wiretest.HTTP2(t, nil, func(f wiretest.Frames, frame http2.Frame) {
		if asked, is := frame.(*http2.HeadersFrame); is {
			writeHeaders(f, asked.StreamID, block.Bytes())
		}
	})
}

// writeHeaders sends a block of headers in frames of 16 KiB.
func writeHeaders(f wiretest.Frames, stream uint32, rest []byte) {
	for first := true; first || len(rest) > 0; first = false {
		n := min(len(rest), 16<<10)
		if first {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: rest[:n], EndHeaders: n == len(rest)})
		} else {
			_ = f.WriteContinuation(stream, n == len(rest), rest[:n])
		}
		rest = rest[n:]
	}
}

// A namespace has many EtcdClusters of three members, which answer with headers of 15 MiB. 90 questions held 1.3 GiB, and cluster-operator has 512 MiB.
func TestTheHeadersOfMembersTakeNoMemory(t *testing.T) {
	url := hostileHeaders(t, 1000)
	const questions = 90 // 30 EtcdClusters of three members; ctx ends as each question of cluster-operator does (askTimeout)
	runtime.GC()
	var before, m runtime.MemStats
	runtime.ReadMemStats(&before)
	var group sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	for range questions {
		group.Go(func() {
			client, err := OpenBriefly(Endpoint{URL: url}, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer client.Close()
			_, _ = client.Status(ctx)
		})
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	peak, live := uint64(0), uint64(0)
	for i := 0; ; i++ {
		select {
		case <-done:
			t.Logf("peak %d MiB, after a collection %d MiB", peak>>20, live>>20)
			if live > 64<<20 {
				t.Errorf("%d questions hold %d MiB of headers while they wait for an answer, and cluster-operator has 512 MiB", questions, live>>20)
			}
			return
		case <-time.After(200 * time.Millisecond):
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc-before.HeapAlloc)
			if i%3 == 2 {
				runtime.GC()
				runtime.ReadMemStats(&m)
				live = max(live, m.HeapAlloc-before.HeapAlloc)
			}
		}
	}
}

// A connection that forgets the bound holds 10 to 16 MiB of headers for each answer.
func TestEachConnectionBoundsTheHeadersOfAnswers(t *testing.T) {
	for path := range sources(t) {
		content, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			t.Fatal(err)
		}
		source := string(content)
		if strings.Contains(source, "clientv3.New(") && !strings.Contains(source, "ShortAnswers()") {
			t.Errorf("%s connects to an etcd without ShortAnswers", path)
		}
		ofUser := strings.HasPrefix(path, "internal/plugin/") // the process of one user, who asks the API server
		if redirects[path] != "" && !ofUser && !strings.Contains(source, "stall.Connections()") && !strings.Contains(source, "MaxResponseHeaderBytes") {
			t.Errorf("%s has an HTTP client without stall.Connections", path)
		}
		if strings.Contains(source, "http.DefaultTransport") && path != "internal/objstore/stall/connections.go" {
			t.Errorf("%s uses http.DefaultTransport instead of stall.Connections", path)
		}
	}
}
