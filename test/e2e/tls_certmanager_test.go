package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

// issuers create a CA and an Issuer that uses it, as cert-manager's documentation describes.
const issuers = `
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: bootstrap}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: example-ca}
spec:
  isCA: true
  commonName: example-ca
  secretName: example-ca
  privateKey: {algorithm: ECDSA, size: 256}
  issuerRef: {name: bootstrap}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: example-ca}
spec: {ca: {secretName: example-ca}}
`

func TestClientsKeepWorkingWhileCertManagerRenewsCertificates(t *testing.T) {
	t.Parallel()
	n := begin(t)
	if err := suite.StartCertManager(t.Context()); errors.Is(err, stack.ErrNoCertManager) && os.Getenv("CI") != "true" {
		t.Skip(err) // the cluster of KUBECONFIG; StartCertManager installs it only in the local one
	} else if err != nil {
		t.Fatal(err)
	}
	const name = "example-cert-manager"
	n.applyFile("examples/etcdcluster-tls-cert-manager.yaml")
	says(n, &v1beta2.EtcdCluster{}, name, v1beta2.ConditionReady, v1beta2.ReasonCertificateNotReady, "issuer example-ca")
	n.statusNames(name, "issuer-missing", "issuer example-ca", "Correct the issuer")
	n.acceptClients(name, v1beta2.AcceptClientsOfCA)
	n.apply(issuers)
	n.apply(stranger)
	cluster := n.ready(name)
	for _, m := range cluster.Status.MemberStatuses {
		if m.ClientURL != fmt.Sprintf("https://%s.%s.%s.svc:2379", m.Name, name, n.name) {
			t.Errorf("the client URL of member %s is %s", m.Name, m.ClientURL)
		}
	}
	config := n.reloadingConfig(cluster.Status.ClientTLSSecret)
	n.put(n.etcd(name, config), "key", 20)

	pods, before := n.podUIDs(name), map[string]string{}
	traffic := n.traffic(name, config)
	secrets := map[string]string{"peer": v1beta2.PeerCertKey, "server": v1beta2.ServerCertKey, "client": v1beta2.ClientCertKey}
	for use, key := range secrets {
		before[use] = string(n.secret(name + "-" + use + "-tls")[key])
		n.renew(name + "-" + use)
	}
	n.eventually("the operator copies cert-manager's new certificates to the members' Secrets", func(context.Context) error {
		for use, key := range secrets {
			if string(n.secret(name + "-" + use + "-tls")[key]) == before[use] {
				return fmt.Errorf("the Secret for %s still has the old certificate", use)
			}
		}
		return nil
	})
	n.serve(name, name+"-server-tls", v1beta2.ServerCertKey, v1beta2.ClientPort)
	n.serve(name, name+"-peer-tls", v1beta2.PeerCertKey, v1beta2.PeerPort)
	n.ready(name)
	traffic.stop("a renewal by cert-manager").quiet(n)
	if diff := cmp.Diff(pods, n.podUIDs(name)); diff != "" {
		t.Errorf("the renewal restarted members (-before +after):\n%s", diff)
	}
	n.has(n.etcd(name, config), "key", 20)
	n.onlyOwnClients(name, cluster, config)
}

// stranger is a Certificate of the same issuer for another cluster.
const stranger = `
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: stranger}
spec:
  commonName: root
  dnsNames: [client.another.namespace.svc]
  secretName: stranger
  usages: [client auth]
  issuerRef: {name: example-ca}
`

// onlyOwnClients turns the check of the name of clients on while a client writes. A client of another cluster gets in before, and not after.
func (n *namespaced) onlyOwnClients(name string, cluster *v1beta2.EtcdCluster, config *tls.Config) {
	n.Helper()
	strange := config.Clone()
	strange.GetClientCertificate = nil
	pair, err := tls.X509KeyPair(n.secret("stranger")["tls.crt"], n.secret("stranger")["tls.key"])
	if err != nil {
		n.Fatal(err)
	}
	strange.Certificates = []tls.Certificate{pair}
	n.opens(cluster, strange, true)
	traffic := n.traffic(name, config)
	n.acceptClients(name, v1beta2.AcceptClientsOfCluster)
	n.eventually("each member checks the name of clients", func(context.Context) error {
		for _, pod := range n.pods(name) {
			if !slices.ContainsFunc(pod.Spec.Containers[0].Command, func(arg string) bool { return strings.HasPrefix(arg, "--client-cert-allowed-hostname=") }) {
				return fmt.Errorf("member %s does not", pod.Name)
			}
		}
		return nil
	})
	n.ready(name)
	saw := traffic.stop("a change of the clients that members accept")
	saw.noneRefused(n)
	saw.outagesAtMost(n, departures)
	n.opens(cluster, strange, false)
	n.has(n.etcd(name, config), "key", 20)
}

// acceptClients sets which clients members accept. A client reads its certificate again for each connection, so it needs no time to load one.
func (n *namespaced) acceptClients(name string, accept v1beta2.ClientAcceptance) {
	n.Helper()
	n.patch(name, fmt.Sprintf(`{"spec":{"TLS":{"acceptClients":%q,"certManager":{"caOverlap":"0s"}}}}`, accept))
}

// opens fails the test unless each member accepts a client, or each refuses it. A member that should accept it may be busy for a moment.
func (n *namespaced) opens(cluster *v1beta2.EtcdCluster, config *tls.Config, want bool) {
	n.Helper()
	for name, pod := range n.pods(cluster.Name) {
		open := func(ctx context.Context) error {
			return reads(ctx, net.JoinHostPort(pod.Status.PodIP, "2379"), cluster.Name+"-client."+n.name+".svc", config)
		}
		if want {
			n.eventuallyQuiet(open)
		} else if open(n.Context()) == nil {
			n.Errorf("member %s accepts a client with a certificate of another cluster", name)
		}
	}
}

// reads connects to an address under a name, and reads a byte of the answer to a request. A client of TLS 1.3 learns only then that the server
// refuses its certificate.
func reads(ctx context.Context, address, name string, config *tls.Config) error {
	config = config.Clone()
	config.ServerName = name
	connection, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer connection.Close()
	if _, err := fmt.Fprintf(connection, "GET /health HTTP/1.1\r\nHost: %s\r\n\r\n", name); err != nil {
		return err
	}
	_, err = connection.Read(make([]byte, 1))
	return err
}

// renew makes cert-manager renew a Certificate, as cmctl renew does.
func (n *namespaced) renew(certificate string) {
	n.Helper()
	n.kubectl("patch", "certificate.cert-manager.io/"+certificate, "--subresource=status", "--type=json", "-p", fmt.Sprintf(
		`[{"op":"add","path":"/status/conditions/-","value":{"type":"Issuing","status":"True","reason":"ManuallyTriggered","message":"asked for by a person","lastTransitionTime":%q}}]`,
		time.Now().UTC().Format(time.RFC3339)))
}
