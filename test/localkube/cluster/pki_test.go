package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestPKI(t *testing.T) {
	a, err := newCA()
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	certificate := func(t *testing.T, name string) *x509.Certificate {
		t.Helper()
		p, err := a.issue(identities(nodesUpTo(3))[name])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tls.X509KeyPair(p.cert, p.key); err != nil {
			t.Fatalf("the key does not match the certificate: %v", err)
		}
		block, _ := pem.Decode(p.cert)
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		return cert
	}
	t.Run("issues a certificate for each name and address of the API server", func(t *testing.T) {
		cert := certificate(t, "apiserver")
		for _, name := range []string{"kubernetes.default.svc", firstService, controlAddress, "127.0.0.1"} {
			if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("issues a certificate that the node authorizer accepts for a node", func(t *testing.T) {
		cert := certificate(t, "node-2")
		if cert.Subject.CommonName != "system:node:node-2" || len(cert.Subject.Organization) != 1 || cert.Subject.Organization[0] != "system:nodes" {
			t.Errorf("got %s", cert.Subject)
		}
		if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: node(2).address()}); err != nil {
			t.Error(err)
		}
	})
	t.Run("gives the control plane's programs no group, because their rights depend on their user names", func(t *testing.T) {
		for _, name := range []string{"controller-manager", "scheduler", "proxy"} {
			if got := certificate(t, name).Subject.Organization; len(got) > 0 {
				t.Errorf("%s has the groups %v, expected none", name, got)
			}
		}
	})
	t.Run("writes a kubeconfig that needs no other file", func(t *testing.T) {
		p, err := a.issue(identities(nil)["admin"])
		if err != nil {
			t.Fatal(err)
		}
		content, err := kubeconfig(a, p)
		if err != nil {
			t.Fatal(err)
		}
		var config struct {
			Clusters []struct {
				Cluster struct {
					Server    string `json:"server"`
					Authority []byte `json:"certificate-authority-data"`
				} `json:"cluster"`
			} `json:"clusters"`
			Users []struct {
				User struct {
					Cert []byte `json:"client-certificate-data"`
					Key  []byte `json:"client-key-data"`
				} `json:"user"`
			} `json:"users"`
		}
		if err := yaml.Unmarshal(content, &config); err != nil {
			t.Fatal(err)
		}
		if config.Clusters[0].Cluster.Server != apiServer || !roots.AppendCertsFromPEM(config.Clusters[0].Cluster.Authority) {
			t.Errorf("got %+v", config.Clusters)
		}
		if _, err := tls.X509KeyPair(config.Users[0].User.Cert, config.Users[0].User.Key); err != nil {
			t.Error(err)
		}
	})
}
