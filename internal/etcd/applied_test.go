package etcd

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAppliedIndexIsReadFromTheMetrics(t *testing.T) {
	tests := map[string]struct {
		status int
		body   string
		want   uint64
		fails  bool
	}{
		"among other metrics":             {status: 200, body: "etcd_server_id{server_id=\"a\"} 1\netcd_server_proposals_applied_total 29\nx 1\n", want: 29},
		"a large number in exponent form": {status: 200, body: "etcd_server_proposals_applied_total 1.234567e+06\n", want: 1234567},
		"metric missing":                  {status: 200, body: "x 1\n", fails: true},
		"value is not a number":           {status: 200, body: "etcd_server_proposals_applied_total many\n", fails: true},
		"member answers 503":              {status: 503, body: "etcd_server_proposals_applied_total 29\n", fails: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body))
			}))
			defer server.Close()
			got, err := Applied(t.Context(), strings.TrimPrefix(server.URL, "http://"))
			if got != test.want || (err != nil) != test.fails {
				t.Errorf("Applied = %d, %v; want %d, failure %v", got, err, test.want, test.fails)
			}
		})
	}
}
