package integration

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/pki"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// issued has the certificates that the operator issues to one cluster, by the name of their usage. The certificates of members have the
// address of this machine, too.
type issued struct {
	state.State
	dir   string
	pairs map[string]pki.Pair
}

func issueFor(t *testing.T, ca *pki.CA, namespace, name string, accept v1beta2.ClientAcceptance) issued {
	t.Helper()
	i := issued{dir: t.TempDir(), pairs: map[string]pki.Pair{}}
	i.Namespace, i.Name = namespace, name
	i.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}, AcceptClients: accept}
	i.write(t, "ca.crt", ca.Cert)
	for _, u := range state.Usages {
		request := state.CertificateRequest(i.State, u)
		if request.Server {
			request.Addresses = []net.IP{net.IPv4(127, 0, 0, 1)}
		}
		pair, err := ca.Issue(request, time.Now(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		i.pairs[u.Name] = pair
		i.write(t, u.Name+".crt", pair.Cert)
		i.write(t, u.Name+".key", pair.Key)
	}
	return i
}

func (i issued) write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(i.path(name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (i issued) path(name string) string { return filepath.Join(i.dir, name) }

// client returns an HTTP client with the certificate of a usage, which trusts the CA.
func (i issued) client(t *testing.T, ca *pki.CA, usage string) *http.Client {
	t.Helper()
	pair, err := tls.X509KeyPair(i.pairs[usage].Cert, i.pairs[usage].Key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.Certificate())
	transport := &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}
}

// opens reports whether a port answers a request with the certificate of a usage.
func (i issued) opens(t *testing.T, ca *pki.CA, usage, url string) bool {
	t.Helper()
	response, err := i.client(t, ca, usage).Get(url)
	if err != nil {
		t.Logf("%s/%s %s: %v", i.Namespace, i.Name, usage, err)
		return false
	}
	_ = response.Body.Close()
	return true
}

// A member without the check is one that an earlier release of the operator started.
func TestOnlyMembersOpenThePeerPort(t *testing.T) {
	t.Parallel()
	for _, minor := range tabled {
		t.Run(minor, func(t *testing.T) {
			t.Parallel()
			ca, err := pki.NewCA("of two clusters", time.Now(), time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			own, other := issueFor(t, ca, "ns", "c", ""), issueFor(t, ca, "another", "c", "")
			members := servers.Etcd(t, servers.EtcdOptions{Minor: minor, Size: 3, PeerTLS: true, ArgsOf: func(member int) []string {
				args := []string{
					"--peer-client-cert-auth=true", "--peer-trusted-ca-file=" + own.path("ca.crt"),
					"--peer-cert-file=" + own.path("peer.crt"), "--peer-key-file=" + own.path("peer.key"),
				}
				if member == 0 {
					return args
				}
				return append(args, "--peer-cert-allowed-hostname="+state.PeerHostname(own.State))
			}}).Members
			for n, m := range members {
				checks := n > 0
				for _, try := range []struct {
					of    issued
					usage string
					want  bool
				}{
					{own, "peer", true},
					{own, "client", !checks},
					{own, "operator", !checks},
					{other, "client", !checks},
					{other, "operator", !checks},
				} {
					if got := try.of.opens(t, ca, try.usage, m.PeerURL+"/members"); got != try.want {
						t.Errorf("member %d: the certificate of %ss of %s/%s opens the peer port: %t, want %t", n, try.usage, try.of.Namespace, try.of.Name, got, try.want)
					}
				}
				if n > 0 && other.opens(t, ca, "peer", m.PeerURL+"/members") {
					t.Errorf("member %d: a member of another cluster opens the peer port", n)
				}
			}
			members[1].Stop() // the others have a quorum only if a member with the check and one without it are connected
			members[2].Put(t, "key", "value")
			members[1].Start()
			members[1].AwaitHealthy()
			if got, _ := members[1].All(t); got["key"] != "value" {
				t.Errorf("a member that restarted with the check has %v", got)
			}
		})
	}
}
