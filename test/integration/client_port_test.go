package integration

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/pki"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// The first member is one that has not restarted since spec.TLS.acceptClients is Cluster.
func TestOnlyClientsOfTheClusterOpenItsClientPort(t *testing.T) {
	t.Parallel()
	for _, minor := range tabled {
		t.Run(minor, func(t *testing.T) {
			t.Parallel()
			ca, err := pki.NewCA("of two clusters", time.Now(), time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			own, other, before := issueFor(t, ca, "ns", "c", v1beta2.AcceptClientsOfCluster), issueFor(t, ca, "another", "c", v1beta2.AcceptClientsOfCluster), issueFor(t, ca, "ns", "c", "")
			members := servers.Etcd(t, servers.EtcdOptions{Minor: minor, Size: 3, Client: own.client(t, ca, "client"), ArgsOf: func(member int) []string {
				args := []string{
					"--client-cert-auth=true", "--trusted-ca-file=" + own.path("ca.crt"),
					"--cert-file=" + own.path("server.crt"), "--key-file=" + own.path("server.key"),
				}
				if member == 0 {
					return args
				}
				return append(args, "--client-cert-allowed-hostname="+state.ClientHostname(own.State))
			}}).Members
			for n, m := range members {
				checks := n > 0
				for _, try := range []struct {
					who   string
					of    issued
					usage string
					want  bool
				}{
					{"this cluster", own, "client", true},
					{"this cluster", own, "operator", true},
					{"this cluster", own, "server", true},
					{"this cluster, before it had the name", before, "client", !checks},
					{"another cluster", other, "client", !checks},
					{"another cluster", other, "operator", !checks},
					{"another cluster", other, "server", !checks},
				} {
					if got := try.of.opens(t, ca, try.usage, m.ClientURL+"/health"); got != try.want {
						t.Errorf("member %d: the certificate of %ss of %s opens the client port: %t, want %t", n, try.usage, try.who, got, try.want)
					}
				}
			}
			config, err := etcd.TLSConfig(own.pairs["client"].Cert, own.pairs["client"].Key, ca.Cert)
			if err != nil {
				t.Fatal(err)
			}
			client, err := clientv3.New(clientv3.Config{Endpoints: []string{members[2].ClientURL}, TLS: config, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = client.Close() })
			if _, err := client.Put(t.Context(), "key", "value"); err != nil {
				t.Errorf("a client of this cluster writes: %v", err)
			}
		})
	}
}
