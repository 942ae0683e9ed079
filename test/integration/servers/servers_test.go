package servers_test

import (
	"net/http"
	"testing"

	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

func TestServersStartAndRespond(t *testing.T) {
	t.Run("the S3 server refuses a request without a signature", func(t *testing.T) {
		server := servers.S3(t)
		server.CreateBucket(t, "snapshots")
		if got := status(t, server.Endpoint+"/snapshots/key"); got != http.StatusForbidden {
			t.Errorf("status %d, want %d", got, http.StatusForbidden)
		}
	})
	t.Run("the GCS emulator has exactly the created bucket", func(t *testing.T) {
		server := servers.GCS(t)
		server.CreateBucket(t, "snapshots")
		if got := status(t, server.Endpoint+"b/snapshots"); got != http.StatusOK {
			t.Errorf("status %d, want %d", got, http.StatusOK)
		}
		if got := status(t, server.Endpoint+"b/other"); got != http.StatusNotFound {
			t.Errorf("status %d for a bucket that does not exist, want %d", got, http.StatusNotFound)
		}
	})
	t.Run("three etcd members become healthy, also after a kill and restart of one", func(t *testing.T) {
		cluster := servers.Etcd(t, servers.EtcdOptions{Size: 3})
		if got := len(cluster.Endpoints()); got != 3 {
			t.Fatalf("%d endpoints, want 3", got)
		}
		cluster.Members[1].Kill()
		cluster.Members[1].Start()
		cluster.Members[1].AwaitHealthy()
	})
}

func status(t *testing.T, url string) int {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
