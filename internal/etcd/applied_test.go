package etcd

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestAppliedIndexIsReadFromTheMetrics(t *testing.T) {
	tests := map[string]struct {
		status int
		body   string
		want   uint64
		id     ID
		fails  bool
	}{
		"among other metrics":             {status: 200, body: "etcd_server_proposals_applied_total 29\netcd_server_id{server_id=\"8e9e05c52164694d\"} 1\nx 1\n", want: 29, id: 0x8e9e05c52164694d},
		"ID is no number":                 {status: 200, body: "etcd_server_id{server_id=\"x\"} 1\netcd_server_proposals_applied_total 29\n", fails: true},
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
			id, got, err := Applied(t.Context(), strings.TrimPrefix(server.URL, "http://"))
			if got != test.want || id != test.id || (err != nil) != test.fails {
				t.Errorf("Applied = %s, %d, %v; want %s, %d, failure %v", id, got, err, test.id, test.want, test.fails)
			}
		})
	}
}

// A proxy for the object store would answer for members.
func TestMembersAreAskedWithoutTheProxyOfTheEnvironment(t *testing.T) {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		t.Fatal("the default transport is another one")
	}
	before := transport.Proxy
	defer func() { transport.Proxy = before }()
	transport.Proxy = func(*http.Request) (*url.URL, error) { return nil, errors.New("a proxy was asked for") }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("etcd_server_proposals_applied_total 29\n"))
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	if _, _, err := Applied(t.Context(), address); err != nil {
		t.Error(err)
	}
	if err := Healthy(t.Context(), address); err != nil {
		t.Error(err)
	}
}
