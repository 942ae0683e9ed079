package etcd

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A tenant runs a sidecar in the Pod of a member, which answers on port 2381 with a redirect. The operator reaches servers that the tenant
// does not reach. The manual lists this try (docs/security.md).
func TestASidecarDoesNotRedirectTheOperator(t *testing.T) {
	for name, ask := range map[string]func(context.Context, string) error{
		"redirects a check of health": Healthy,
		"redirects a reading of metrics": func(ctx context.Context, address string) error {
			_, _, err := Applied(ctx, address)
			return err
		},
		"redirects a question to a seed": func(ctx context.Context, address string) error {
			_, err := Get(ctx, address, "/progress", 1<<10)
			return err
		},
	} {
		for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
			var reached atomic.Int32
			internal := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				reached.Add(1)
				_, _ = w.Write([]byte("etcd_server_proposals_applied_total 29\n"))
			}))
			pod := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, internal.URL+"/secret", status)
			}))
			err := ask(t.Context(), strings.TrimPrefix(pod.URL, "http://"))
			if err == nil || reached.Load() > 0 {
				t.Errorf("a Pod %s with status %d: the other server got %d requests, and the operator reports %v", name, status, reached.Load(), err)
			}
			pod.Close()
			internal.Close()
		}
	}
}

// An answer without an end would fill the memory of the operator.
func TestAnAnswerOfAPodIsBounded(t *testing.T) {
	pod := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for line := []byte(strings.Repeat("x", 1<<10) + "\n"); ; {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	}))
	defer pod.Close()
	if _, _, err := Applied(t.Context(), strings.TrimPrefix(pod.URL, "http://")); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("metrics without an end were read to %v", err)
	}
}
