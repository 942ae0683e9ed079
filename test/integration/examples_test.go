package integration

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

func TestExamplesAreAccepted(t *testing.T) {
	namespace := kubetest.Namespace(t)
	seen := map[string]string{}
	for path, manifest := range manifests(t, filepath.Join(kubetest.Root(t), "examples", "*.yaml")) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			kubetest.MustKubectl(t, "", "apply", "-n", namespace, "-f", path)
			// A user who applies two examples expects two objects.
			name := manifest.GetKind() + "/" + manifest.GetName()
			if other := seen[name]; other != "" {
				t.Errorf("%s and %s both define %s", path, other, name)
			}
			seen[name] = path
		})
	}
}

func TestManifestsInTheDocsAreAccepted(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	for _, page := range []string{"backup.md", "migrating-from-coreos.md"} {
		text, err := os.ReadFile(filepath.Join(kubetest.Root(t), "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range blocks.FindAllStringSubmatch(string(text), -1) {
			t.Run(fmt.Sprintf("%s %d", page, i+1), func(t *testing.T) {
				kubetest.MustKubectl(t, block[1], "apply", "-n", kubetest.Namespace(t), "-f", "-")
			})
		}
	}
}

func TestSecretsNamedInExamplesExist(t *testing.T) {
	secrets, named := map[string]bool{}, map[string]string{}
	for path, manifest := range manifests(t, filepath.Join(kubetest.Root(t), "examples", "*.yaml")) {
		if manifest.GetKind() == "Secret" {
			secrets[manifest.GetName()] = true
		}
		spec, _ := manifest.Object["spec"].(map[string]any)
		for block, field := range map[string]string{"s3": "awsSecret", "gcs": "gcpSecret", "abs": "absSecret"} {
			if values, ok := spec[block].(map[string]any); ok {
				named[values[field].(string)] = path
			}
		}
	}
	for name, path := range named {
		if !secrets[name] {
			t.Errorf("%s uses Secret %s, but no example creates it", path, name)
		}
	}
}

func TestTLSExampleCreatesValidCertificates(t *testing.T) {
	namespace := kubetest.Namespace(t)
	script := filepath.Join(kubetest.Root(t), "examples", "tls-secrets.sh")
	out, err := exec.CommandContext(t.Context(), script, "example-tls", namespace).Output()
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	kubetest.MustKubectl(t, string(out), "apply", "-f", "-")
	cluster := &v1beta2.EtcdCluster{}
	path := filepath.Join(kubetest.Root(t), "examples", "etcdcluster-tls.yaml")
	kubetest.MustKubectl(t, "", "apply", "-n", namespace, "-f", path)
	if err := kubetest.Client(t).Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "example-tls"}, cluster); err != nil {
		t.Fatal(err)
	}
	names := cluster.Spec.TLS.Static
	host := "example-tls-abcdefghij.example-tls." + namespace + ".svc"
	for name, test := range map[string]struct {
		secret, cert, key, ca string
		hosts                 []string
	}{
		"peer": {names.Member.PeerSecret, v1beta2.PeerCertKey, v1beta2.PeerKeyKey, v1beta2.PeerCAKey, []string{host, host + ".cluster.local"}},
		"server": {names.Member.ServerSecret, v1beta2.ServerCertKey, v1beta2.ServerKeyKey, v1beta2.ServerCAKey,
			[]string{host, host + ".cluster.local", "example-tls-client." + namespace + ".svc", "localhost", "127.0.0.1"}},
		"client": {names.OperatorSecret, v1beta2.ClientCertKey, v1beta2.ClientKeyKey, v1beta2.ClientCAKey, []string{""}},
	} {
		t.Run("the "+name+" Secret has a certificate for all of its names", func(t *testing.T) {
			var secret corev1.Secret
			if err := kubetest.Client(t).Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: test.secret}, &secret); err != nil {
				t.Fatal(err)
			}
			pair, err := tls.X509KeyPair(secret.Data[test.cert], secret.Data[test.key])
			if err != nil {
				t.Fatal(err)
			}
			roots := x509.NewCertPool()
			if !roots.AppendCertsFromPEM(secret.Data[test.ca]) || bytes.Contains(secret.Data[test.ca], []byte("PRIVATE")) {
				t.Fatalf("%s must contain a certificate and no private key", test.ca)
			}
			for _, host := range test.hosts {
				for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
					_, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, KeyUsages: []x509.ExtKeyUsage{usage}})
					if err != nil {
						t.Errorf("the certificate is not valid for %q: %v", host, err)
					}
				}
			}
		})
	}
}
