package stall

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const limit = 10 * time.Second

// slow is a request or response body that pauses before each byte.
type slow struct {
	ctx    context.Context
	pauses []time.Duration
}

func (s *slow) Read(p []byte) (int, error) {
	if len(s.pauses) == 0 {
		return 0, io.EOF
	}
	if err := pause(s.ctx, s.pauses[0]); err != nil {
		return 0, err
	}
	s.pauses = s.pauses[1:]
	p[0] = 'x'
	return 1, nil
}

func (s *slow) Close() error { return nil }

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestSilentRequestsAreCancelledAndSlowOnesAreNot(t *testing.T) {
	const almost, over = limit - time.Second, limit + time.Second
	for name, test := range map[string]struct {
		send   []time.Duration
		wait   time.Duration
		answer []time.Duration
		read   time.Duration // what the reader does with each byte
		silent bool
	}{
		"when all is slow":                         {[]time.Duration{almost, almost}, almost, []time.Duration{almost, almost}, 0, false},
		"when its reader takes its time":           {nil, 0, []time.Duration{0, 0, 0}, over, false},
		"when nothing is sent on":                  {[]time.Duration{0, over}, 0, nil, 0, true},
		"when no answer comes":                     {[]time.Duration{0}, over, nil, 0, true},
		"when the answer stops":                    {nil, 0, []time.Duration{0, 0, over}, 0, true},
		"when no answer comes to an empty request": {nil, over, nil, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transport := Transport{Limit: func(*http.Request) time.Duration { return limit }, Send: func(r *http.Request) (*http.Response, error) {
					if r.Body != nil {
						if _, err := io.Copy(io.Discard, r.Body); err != nil {
							return nil, err
						}
						if r.Context().Err() != nil {
							return nil, r.Context().Err() // as a transport does
						}
					}
					if err := pause(r.Context(), test.wait); err != nil {
						return nil, err
					}
					return &http.Response{Body: &slow{r.Context(), test.answer}}, nil
				}}
				got, err := whole(t, transport, test.send, test.read)
				var silent *Error
				if errors.As(err, &silent) != test.silent || !test.silent && (err != nil || len(got) != len(test.answer)) {
					t.Errorf("%d bytes, error %v", len(got), err)
				}
			})
		})
	}
}

// whole sends a request and reads its whole response.
func whole(t *testing.T, transport Transport, send []time.Duration, read time.Duration) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	var body io.Reader
	if len(send) > 0 {
		body = &slow{ctx, send}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://store", body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var got []byte
	for one := make([]byte, 1); ; {
		n, err := response.Body.Read(one)
		got = append(got, one[:n]...)
		if errors.Is(err, io.EOF) {
			return got, nil
		} else if err != nil {
			return got, err
		}
		<-time.After(read)
	}
}

func TestCancellationByTheCallerIsNotAStall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://store", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	transport := Transport{Send: func(r *http.Request) (*http.Response, error) { return nil, r.Context().Err() }}
	response, err := transport.Do(r)
	if err == nil {
		_ = response.Body.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}
