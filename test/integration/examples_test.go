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
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// placeholders maps each example that a user must complete to what the API server answers until then.
var placeholders = map[string][]string{
	"etcdbackup-abs.yaml":         {"spec.abs.path", "replace the placeholder in <> by the name of your container"},
	"etcdbackup-gcs.yaml":         {"spec.gcs.path", "replace the placeholder in <> by the name of your bucket"},
	"etcdbackup-continuous.yaml":  {"spec.s3.path", "replace the placeholder in <> by the name of your bucket"},
	"etcdbackup-minio.yaml":       {"spec.s3.path", "replace the placeholder in <> by the name of your bucket"},
	"etcdbackup-nightly.yaml":     {"spec.s3.path", "replace the placeholder in <> by the name of your bucket"},
	"etcdbackup-encrypted.yaml":   {"spec.encryption.age.recipients", "as age-keygen prints them", "replace the placeholder in <> by the name of your bucket"},
	"etcdbackup-two-regions.yaml": {"spec.s3.path", "spec.copyTo.s3.path", "replace the placeholder in <> by the name of your bucket"},
	"etcdrestore-before.yaml":     {"spec.select.before", "date-time"},
	"etcdrestore-time.yaml":       {"spec.select.time", "date-time"},
	"etcdrestore-volume.yaml":     {"spec.volume.claimName", "the name of a PersistentVolumeClaim"},
}

func TestExamplesAreAcceptedOrNameTheirPlaceholders(t *testing.T) {
	namespace := kubetest.Namespace(t)
	seen, incomplete := map[string]string{}, 0
	for path, manifest := range manifests(t, filepath.Join(kubetest.Root(t), "examples", "*.yaml")) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = kubetest.Kubectl(t, "", "apply", "-n", namespace, "-f", path)
			wants, replace := placeholders[filepath.Base(path)]
			switch {
			case replace:
				incomplete++
				if !strings.HasPrefix(string(text), "# Replace the ") {
					t.Error("the first line does not name the placeholders")
				}
				for _, want := range wants {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("the API server must answer with %q, but answers: %v", want, err)
					}
				}
			case err != nil:
				t.Error(err)
			case !strings.HasPrefix(string(text), "# Works as it stands"):
				t.Error("the first line does not say that the example works as it stands, or with what")
			}
			// A user who applies two examples expects two objects.
			name := manifest.GetKind() + "/" + manifest.GetName()
			if other := seen[name]; other != "" {
				t.Errorf("%s and %s both define %s", path, other, name)
			}
			seen[name] = path
		})
	}
	if incomplete != len(placeholders) {
		t.Errorf("%d of %d examples with placeholders exist", incomplete, len(placeholders))
	}
}

// A retention that is meant for a year must not end with its EtcdBackup.
func TestNoExampleDeletesSnapshotsWithItsEtcdBackup(t *testing.T) {
	for path, manifest := range manifests(t, filepath.Join(kubetest.Root(t), "examples", "*.yaml")) {
		if policy, _, _ := unstructured.NestedString(manifest.Object, "spec", "deletionPolicy"); policy != "" {
			t.Errorf("%s has deletionPolicy %s", path, policy)
		}
	}
}

// A user copies a manifest from a page, and the API refuses it. Each page of the manual is read, also one that is new.
func TestManifestsInTheDocsAreAccepted(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(kubetest.Root(t), "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	applied := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, manifest := range manifestsIn(string(text)) {
			applied++
			t.Run(fmt.Sprintf("%s %d", filepath.Base(page), i+1), func(t *testing.T) {
				kubetest.MustKubectl(t, manifest, "apply", "-n", kubetest.Namespace(t), "-f", "-")
			})
		}
	}
	if applied < 25 {
		t.Errorf("only %d manifests were found, so the test tested too little", applied)
	}
}

var (
	yamlBlock = regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```$")
	// written is a manifest that a command of a page writes to a file.
	written = regexp.MustCompile(`(?ms)^()cat > \S+ <<EOF\n(.*?)^EOF$`)
	// filled has values for what the shell would fill in.
	filled = strings.NewReplacer("<bucket>/", "bucket/", "<status.safetySnapshot.path>", "bucket/safety-snapshots/a.db",
		"$(cat before-the-mistake)", "2026-11-22T09:14:02Z", "$TIME", "2026-11-22T09:14:02Z",
		"$CLUSTER_ID", "1234567890abcdef", "namespace: etcd\n", "labels: {}\n",
		"$(kubectl get etcdbackup example-continuous -n etcd -o jsonpath='{.status.recoverable[-1:].to.revision}')", "7")
)

// manifestsIn returns the blocks of a page that have an object of this suite, also those in a list. Values of the chart, parts of a spec, and
// kinds that this API server does not have are left out.
func manifestsIn(text string) []string {
	var found []string
	for _, block := range append(yamlBlock.FindAllStringSubmatch(text, -1), written.FindAllStringSubmatch(text, -1)...) {
		lines := strings.Split(block[2], "\n")
		for i := range lines {
			lines[i] = strings.TrimPrefix(lines[i], block[1])
		}
		manifest := strings.Join(lines, "\n")
		if strings.HasPrefix(manifest, "apiVersion: "+v1beta2.GroupVersion.String()) {
			found = append(found, filled.Replace(manifest))
		}
	}
	return found
}

func TestSecretsNamedInExamplesExist(t *testing.T) {
	secrets, named := map[string]bool{}, map[string]string{}
	for path, manifest := range manifests(t, filepath.Join(kubetest.Root(t), "examples", "*.yaml")) {
		if manifest.GetKind() == "Secret" {
			secrets[manifest.GetName()] = true
		}
		spec, _ := manifest.Object["spec"].(map[string]any)
		copyTo, _ := spec["copyTo"].(map[string]any)
		for block, field := range map[string]string{"s3": "awsSecret", "gcs": "gcpSecret", "abs": "absSecret"} {
			for _, location := range []map[string]any{spec, copyTo} {
				if values, ok := location[block].(map[string]any); ok {
					named[values[field].(string)] = path
				}
			}
		}
	}
	for name, path := range named {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !secrets[name] && !strings.Contains(string(text), "kubectl create secret generic "+name+" ") {
			t.Errorf("%s uses Secret %s, but neither an example nor a command in it creates the Secret", path, name)
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
