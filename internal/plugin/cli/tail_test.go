package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/show"
)

// Kubernetes selects lines by the second, and ends a stream when the container restarts.
func TestFollowedLogsHaveNoLineTwiceAndContinueAfterARestart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out strings.Builder
	var lock sync.Mutex
	opened := map[string]int{}
	followed := &show.Tail{
		Out: &out, Last: map[string]string{"a": "2026-11-23T12:00:00.5Z"},
		Pods: func(context.Context) ([]string, error) {
			lock.Lock()
			defer lock.Unlock()
			if opened["a"] > 1 {
				return []string{"a", "b"}, nil // b is a new member
			}
			return []string{"a"}, nil
		},
		Open: func(_ context.Context, pod, since string) (io.ReadCloser, error) {
			lock.Lock()
			defer lock.Unlock()
			opened[pod]++
			if pod == "b" {
				cancel()
				return nil, errors.New("not started")
			}
			if want := "2026-11-23T12:00:00.5Z"; opened[pod] == 1 && since != want {
				t.Errorf("opened from %q, want %q", since, want)
			}
			return io.NopCloser(strings.NewReader("2026-11-23T12:00:00.5Z old\n2026-11-23T12:00:00.51Z new\n2026-11-23T12:00:01Z last")), nil
		},
	}
	followed.Follow(ctx)
	if diff := cmp.Diff("a 2026-11-23T12:00:00.51Z new\na 2026-11-23T12:00:01Z last\n", out.String()); diff != "" {
		t.Error(diff)
	}
	if opened["a"] < 2 {
		t.Error("the stream that ended was not opened again")
	}
}
