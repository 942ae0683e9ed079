package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// testCA is a certificate authority for tests.
type testCA struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newCA(t *testing.T) *testCA {
	t.Helper()
	a := &testCA{t: t}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.pem, _, a.cert, a.key = a.sign(template)
	return a
}

// issue returns a certificate for a DNS name and its key, both as PEM.
func (a *testCA) issue(name string) (cert, key []byte) {
	a.t.Helper()
	cert, key, _, _ = a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	return cert, key
}

func (a *testCA) sign(template *x509.Certificate) (certPEM, keyPEM []byte, cert *x509.Certificate, key *ecdsa.PrivateKey) {
	a.t.Helper()
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	if cert, err = x509.ParseCertificate(der); err != nil {
		a.t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), cert, key
}

// serveTLS starts a proxy with mutual TLS and a certificate for localhost in front of a plain server. It returns its URL.
func (a *testCA) serveTLS(target string) string {
	a.t.Helper()
	cert, key := a.issue("localhost")
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		a.t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AddCert(a.cert)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients,
		NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12,
	})
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go pass(from, strings.TrimPrefix(target, "http://"))
		}
	}()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		a.t.Fatal(err)
	}
	return "https://localhost:" + port
}

// pass copies data between a client and a server in both directions.
func pass(from net.Conn, target string) {
	defer from.Close()
	to, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(from, to)
		_ = from.Close()
	}()
	_, _ = io.Copy(to, from)
}

func TestBackupSupportsMutualTLS(t *testing.T) {
	t.Parallel()
	etcd := servers.Etcd(t, servers.EtcdOptions{})
	ca := newCA(t)
	url := ca.serveTLS(etcd.Members[0].ClientURL)
	cert, key := ca.issue("client")
	b := newBackupBench(t)
	kubetest.Create(b, b.secret("client-tls", map[string][]byte{
		v1beta2.ClientCertKey: cert, v1beta2.ClientKeyKey: key, v1beta2.ClientCAKey: ca.pem,
	}))

	b.in("saves from endpoints with mutual TLS", func(b *backupBench) {
		backup := b.backup("tls", "backups/tls.db", url)
		backup.Spec.ClientTLSSecret = "client-tls"
		kubetest.Create(b, backup)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
		b.fetchReported(backup, b.bucket)
	})
	b.in("saves an EtcdCluster with the client Secret in its status", func(b *backupBench) {
		cluster := b.cluster("secure", metav1.ConditionFalse, etcd)
		cluster.Status.ClientTLSSecret = "client-tls"
		secure := *etcd
		secure.Members = []*servers.EtcdMember{{Name: "m0", ClientURL: url}}
		b.report(cluster, metav1.ConditionTrue, &secure)
		backup := b.backup("named-tls", "backups/named-tls.db")
		backup.Spec.EtcdCluster = &v1beta2.ClusterReference{Name: "secure"}
		kubetest.Create(b, backup)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
	})
	b.in("reports a server whose certificate another CA signed", func(b *backupBench) {
		other := newCA(b.T)
		kubetest.Create(b, b.secret("other-ca", map[string][]byte{
			v1beta2.ClientCertKey: cert, v1beta2.ClientKeyKey: key, v1beta2.ClientCAKey: other.pem,
		}))
		backup := b.backup("untrusted", "backups/untrusted.db", url)
		backup.Spec.ClientTLSSecret = "other-ca"
		kubetest.Create(b, backup)
		b.fails(backup, v1beta2.ReasonEndpointUnreachable, "certificate signed by unknown authority")
	})
	b.in("reports a server whose certificate is for another name", func(b *backupBench) {
		backup := b.backup("other-name", "backups/other-name.db", strings.Replace(url, "localhost", "127.0.0.1", 1))
		backup.Spec.ClientTLSSecret = "client-tls"
		kubetest.Create(b, backup)
		b.fails(backup, v1beta2.ReasonEndpointUnreachable, "127.0.0.1")
	})
	b.in("reports a Secret without a certificate", func(b *backupBench) {
		kubetest.Create(b, b.secret("half", map[string][]byte{v1beta2.ClientCAKey: ca.pem}))
		backup := b.backup("half-secret", "backups/half.db", url)
		backup.Spec.ClientTLSSecret = "half"
		kubetest.Create(b, backup)
		b.fails(backup, v1beta2.ReasonSecretMissing, "Secret half has no usable", v1beta2.ClientCertKey)
	})
}
