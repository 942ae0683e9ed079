package servers

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// GCSServer is a running fake-gcs-server. It needs no credentials.
type GCSServer struct {
	*Process
	// Host is host:port, the format of STORAGE_EMULATOR_HOST.
	Host string
	// Endpoint is the URL of the JSON API, the format of the gcs store's Endpoint.
	Endpoint string
}

// GCS starts a GCS emulator without buckets. It keeps its objects in memory.
func GCS(t testing.TB) *GCSServer {
	t.Helper()
	program := Program(t, "fake-gcs-server")
	address := FreeAddress(t)
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatalf("split %s: %v", address, err)
	}
	s := &GCSServer{Host: address, Endpoint: "http://" + address + "/storage/v1/"}
	s.Process = newProcess(t, "fake-gcs-server", program, nil,
		"-backend", "memory", "-scheme", "http", "-host", host, "-port", port,
		"-public-host", address, "-external-url", "http://"+address)
	s.Start()
	s.AwaitHTTP(s.Endpoint + "b?project=test")
	return s
}

// CreateBucket creates an empty bucket.
func (s *GCSServer) CreateBucket(t testing.TB, name string) {
	t.Helper()
	body := strings.NewReader(`{"name":"` + name + `"}`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Endpoint+"b?project=test", body)
	if err != nil {
		t.Fatalf("create GCS bucket %s: %v", name, err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("create GCS bucket %s: %v", name, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(resp.Body)
		t.Fatalf("create GCS bucket %s: %s: %s", name, resp.Status, answer)
	}
}
