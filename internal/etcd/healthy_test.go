package etcd

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAMemberIsHealthyOnlyIfItSaysSo(t *testing.T) {
	for status, healthy := range map[int]bool{http.StatusOK: true, http.StatusServiceUnavailable: false, http.StatusNotFound: false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.String() != "/health" {
				t.Errorf("asked for %s, which excludes alarms or quorum", r.URL)
			}
			w.WriteHeader(status)
		}))
		if err := Healthy(t.Context(), strings.TrimPrefix(server.URL, "http://")); (err == nil) != healthy {
			t.Errorf("HTTP status %d: %v", status, err)
		}
		server.Close()
		if err := Healthy(t.Context(), strings.TrimPrefix(server.URL, "http://")); err == nil {
			t.Error("a member that has ended is healthy")
		}
	}
}
