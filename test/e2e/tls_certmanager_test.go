package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	n.apply(issuers)
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
	traffic.stop("a renewal by cert-manager").failuresAtMost(t, 0)
	if diff := cmp.Diff(pods, n.podUIDs(name)); diff != "" {
		t.Errorf("the renewal restarted members (-before +after):\n%s", diff)
	}
	n.has(n.etcd(name, config), "key", 20)
}

// renew makes cert-manager renew a Certificate, as cmctl renew does.
func (n *namespaced) renew(certificate string) {
	n.Helper()
	n.kubectl("patch", "certificate.cert-manager.io/"+certificate, "--subresource=status", "--type=json", "-p", fmt.Sprintf(
		`[{"op":"add","path":"/status/conditions/-","value":{"type":"Issuing","status":"True","reason":"ManuallyTriggered","message":"asked for by a person","lastTransitionTime":%q}}]`,
		time.Now().UTC().Format(time.RFC3339)))
}
