package stall

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A client of HTTP read the body of an attempt that had failed, while the SDK of Azure sought in it for the next attempt, or filled the buffer
// with the next block. The next attempt then sent other bytes than those of the block.
func TestAnAttemptThatWasLeftReadsNothingMore(t *testing.T) {
	for name, fails := range map[string]error{"after an answer": nil, "after an error": io.ErrUnexpectedEOF} {
		for _, again := range []bool{false, true} {
			var first io.Reader
			transport := Transport{Limit: func(*http.Request) time.Duration { return time.Minute }, Send: func(r *http.Request) (*http.Response, error) {
				first = r.Body
				if again {
					body, err := r.GetBody() // a new connection, within the same attempt
					if err != nil {
						t.Fatal(err)
					}
					if n, _ := first.Read(make([]byte, 1)); n != 0 {
						t.Errorf("%s: the body of the first connection still reads", name)
					}
					first = body
				}
				if n, err := first.Read(make([]byte, 2)); n != 2 || err != nil {
					t.Fatalf("%s: %d, %v", name, n, err)
				}
				return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, fails
			}}
			content := bytes.NewReader([]byte("content"))
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://store/", content)
			if err != nil {
				t.Fatal(err)
			}
			request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(content), nil }
			response, err := transport.Do(request)
			if err == nil {
				_ = response.Body.Close()
			}
			if n, err := first.Read(make([]byte, 2)); n != 0 || err != io.EOF || content.Len() != len("content")-2 {
				t.Errorf("%s: a late read takes %d bytes (%v), %d are there for the next attempt", name, n, err, content.Len())
			}
		}
	}
}

// held is a body of which each read waits until it may.
type held struct {
	reads chan struct{}
	count atomic.Int32
}

func (h *held) Read(p []byte) (int, error) {
	h.count.Add(1)
	<-h.reads
	return 1, nil
}

func (h *held) Close() error { return nil }

// The store had answered while the body waited for its next bytes. After these bytes, the client of HTTP began to read further ones before the attempt was left, so
// the caller waited for each of them, and for ever if none came.
func TestNoReadBeginsAfterAnAttemptIsLeft(t *testing.T) {
	body := &held{reads: make(chan struct{})}
	s := &sent{body: body, watch: &watch{limit: time.Minute, timer: time.NewTimer(time.Minute)}}
	ended := make(chan struct{})
	go func() {
		for err := error(nil); err == nil; {
			_, err = s.Read(make([]byte, 1))
		}
		close(ended)
	}()
	for body.count.Load() == 0 {
		runtime.Gosched()
	}
	left := make(chan struct{})
	go func() {
		s.leave()
		close(left)
	}()
	for !s.left.Load() {
		runtime.Gosched()
	}
	body.reads <- struct{}{}
	<-left
	<-ended
	if n := body.count.Load(); n != 1 {
		t.Errorf("%d reads", n)
	}
}

// The store refused an upload while its body waited for the proof of a snapshot. The answer was lost after the limit, and the error was that the store made no progress.
func TestAnAnswerIsKeptWhileTheBodyWaits(t *testing.T) {
	transport := Transport{Limit: func(*http.Request) time.Duration { return 10 * time.Millisecond }, Send: func(r *http.Request) (*http.Response, error) {
		go func() { _, _ = r.Body.Read(make([]byte, 1)) }()
		for len(r.Context().Value(waiting{}).(*slowly).begun) == 0 {
			runtime.Gosched()
		}
		return &http.Response{StatusCode: http.StatusForbidden, Body: &ofContext{r.Context(), strings.NewReader("refused")}}, nil
	}}
	body := &slowly{begun: make(chan struct{}, 1)}
	request, err := http.NewRequestWithContext(context.WithValue(t.Context(), waiting{}, body), http.MethodPut, "http://store/", body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || string(text) != "refused" {
		t.Errorf("%q, %v", text, err)
	}
}

type waiting struct{}

// slowly is a body that waits longer than the limit.
type slowly struct{ begun chan struct{} }

func (s *slowly) Read([]byte) (int, error) {
	s.begun <- struct{}{}
	<-time.After(200 * time.Millisecond)
	return 0, io.EOF
}

// ofContext is the body of an answer, which fails if its request was cancelled.
type ofContext struct {
	ctx context.Context
	io.Reader
}

func (o *ofContext) Read(p []byte) (int, error) {
	if err := o.ctx.Err(); err != nil {
		return 0, err
	}
	return o.Reader.Read(p)
}

func (o *ofContext) Close() error { return nil }
