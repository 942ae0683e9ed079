package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

func TestClientsKeepWorkingWhileManagedCertificatesAndTheCAAreReplaced(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.applyFile("examples/secret-s3.yaml")
	n.apply(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: managed}
spec: {size: 3, version: "3.6.16", TLS: {managed: {caOverlap: 0s}}}
`)
	cluster := n.ready("managed")
	if cluster.Status.ClientTLSSecret != "managed-client-tls" {
		t.Fatalf("the status names the client Secret %q, expected managed-client-tls", cluster.Status.ClientTLSSecret)
	}
	config := n.reloadingConfig(cluster.Status.ClientTLSSecret)
	n.put(n.etcd("managed", config), "key", 20)

	n.renewed()
	n.caReplaced(config)

	n.apply(s3Backup("managed", ofCluster("managed"), stack.Bucket+"/"+n.name+"/managed.db"))
	becomes(n, &v1beta2.EtcdBackup{}, "managed", v1beta2.ConditionComplete)
	n.has(n.etcd("managed", config), "key", 20)
}

// renewed makes the operator renew all certificates once they are five seconds old. Members must load the new ones
// without a restart.
func (n *namespaced) renewed() {
	n.Helper()
	pods, before := n.podUIDs("managed"), n.secret("managed-server-tls")
	traffic := n.traffic("managed", n.reloadingConfig("managed-client-tls"))
	n.kubectl("patch", "etcdcluster/managed", "--type=merge", "-p", `{"spec":{"TLS":{"managed":{"renewBefore":"2159h59m55s"}}}}`)
	n.eventually("the certificate is renewed", func(context.Context) error {
		if string(n.secret("managed-server-tls")[v1beta2.ServerCertKey]) == string(before[v1beta2.ServerCertKey]) {
			return errors.New("the Secret still has the old certificate")
		}
		return nil
	})
	n.kubectl("patch", "etcdcluster/managed", "--type=merge", "-p", `{"spec":{"TLS":{"managed":{"renewBefore":"720h"}}}}`)
	n.ready("managed")
	n.serve("managed", "managed-server-tls", v1beta2.ServerCertKey, v1beta2.ClientPort)
	n.serve("managed", "managed-peer-tls", v1beta2.PeerCertKey, v1beta2.PeerPort)
	traffic.stop("a renewal of all certificates").quiet(n)
	if diff := cmp.Diff(pods, n.podUIDs("managed")); diff != "" {
		n.Errorf("the renewal restarted members (-before +after):\n%s", diff)
	}
	if string(n.secret("managed-server-tls")[v1beta2.ServerCAKey]) != string(before[v1beta2.ServerCAKey]) {
		n.Error("the renewal of certificates changed the CA, so other clients would no longer trust the members")
	}
}

// caReplaced makes the operator replace the CA. Clients must keep working.
func (n *namespaced) caReplaced(config *tls.Config) {
	n.Helper()
	before := n.secret("managed-ca")["ca.crt"]
	traffic := n.traffic("managed", config)
	n.kubectl("annotate", "etcdcluster/managed", v1beta2.AnnotationRotateCA+"=now")
	n.eventually("no Secret contains the old CA", func(context.Context) error {
		ca := n.secret("managed-ca")
		if string(ca["ca.crt"]) == string(before) || len(ca["previous-ca.crt"]) > 0 {
			return errors.New("the Secret of the CA still contains the old one")
		}
		for _, secret := range []struct{ name, key string }{
			{"managed-client-tls", v1beta2.ClientCAKey}, {"managed-operator-tls", v1beta2.ClientCAKey}, {"managed-server-tls", v1beta2.ServerCAKey}, {"managed-peer-tls", v1beta2.PeerCAKey},
		} {
			if string(n.secret(secret.name)[secret.key]) != string(ca["ca.crt"]) {
				return fmt.Errorf("Secret %s contains a different CA bundle", secret.name)
			}
		}
		return nil
	})
	n.ready("managed")
	n.serve("managed", "managed-server-tls", v1beta2.ServerCertKey, v1beta2.ClientPort)
	// Members restart twice, and each time the leadership moves once.
	traffic.stop("a replacement of the CA").outagesAtMost(n, 2)
}

// serve waits until every member serves the certificate of a Secret on a port.
func (n *namespaced) serve(cluster, secret, key string, port int32) {
	n.Helper()
	if suite.Local == nil {
		return // the test cannot reach the Pods of another Kubernetes
	}
	n.eventually("every member serves the certificate of "+secret, func(ctx context.Context) error {
		held, err := tls.X509KeyPair(n.secret(secret)[key], n.secret(secret)[key[:len(key)-len("crt")]+"key"])
		if err != nil {
			return err
		}
		for name, pod := range n.pods(cluster) {
			shown, err := etcd.Shown(ctx, fmt.Sprintf("%s:%d", pod.Status.PodIP, port))
			if err != nil {
				return err
			}
			if !shown.Equal(held.Leaf) {
				return fmt.Errorf("member %s serves a different certificate", name)
			}
		}
		return nil
	})
}

// secret reads a Secret's data.
func (n *namespaced) secret(name string) map[string][]byte {
	n.Helper()
	var secret corev1.Secret
	if err := suite.Client.Get(n.Context(), client.ObjectKey{Namespace: n.name, Name: name}, &secret); err != nil {
		n.Fatal(err)
	}
	return secret.Data
}

func (n *namespaced) podUIDs(cluster string) map[string]string {
	n.Helper()
	uids := map[string]string{}
	for name, pod := range n.pods(cluster) {
		uids[name] = string(pod.UID)
	}
	return uids
}

// reloadingConfig returns the TLS configuration of a client that reads its Secret for each connection, like a client
// that watches its certificate files.
func (n *namespaced) reloadingConfig(name string) *tls.Config {
	read := func() (*tls.Config, error) {
		var secret corev1.Secret
		if err := suite.Client.Get(n.Context(), client.ObjectKey{Namespace: n.name, Name: name}, &secret); err != nil {
			return nil, err
		}
		return etcd.TLSConfig(secret.Data[v1beta2.ClientCertKey], secret.Data[v1beta2.ClientKeyKey], secret.Data[v1beta2.ClientCAKey])
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // VerifyConnection verifies the certificate with the current CA bundle
		VerifyConnection: func(state tls.ConnectionState) error {
			config, err := read()
			if err != nil {
				return err
			}
			intermediates := x509.NewCertPool()
			for _, cert := range state.PeerCertificates[1:] {
				intermediates.AddCert(cert)
			}
			_, err = state.PeerCertificates[0].Verify(x509.VerifyOptions{DNSName: state.ServerName, Roots: config.RootCAs, Intermediates: intermediates})
			return err
		},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			config, err := read()
			if err != nil {
				return nil, err
			}
			return &config.Certificates[0], nil
		},
	}
}
