package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sigs.k8s.io/yaml"
)

// A user of a release copies these commands. If one of them names a file, a path or a tag that a release does not have, the first thing that
// the user sees of the suite is an error.
func TestTheCommandsOfThePagesInstallARelease(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the pages name the archive of linux/amd64")
	}
	p, ran := publish(t), map[string]bool{}
	for _, step := range []struct {
		page, block string
		check       func(t *testing.T, output string)
	}{
		{"README.md", "release", p.operatorsRun},
		{"charts/etcd-operator/README.md", "chart", p.operatorsRun},
		{"docs/install.md", "helm", p.operatorsRun},
		{"docs/install.md", "plugin", func(t *testing.T, output string) {
			if want := "kubectl etcd version " + p.release.version; strings.TrimSpace(output) != want {
				t.Errorf("the plugin reports %q, want %q", output, want)
			}
		}},
		{"docs/install.md", "examples", p.examplesAreThere},
		{"docs/install.md", "manifests", p.operatorsRun},
		{"charts/etcd-operator/README.md", "manifests", p.operatorsRun},
	} {
		t.Run(step.page+" "+step.block, func(t *testing.T) {
			lines := commandsOf(t, step.page, step.block)
			all := strings.Join(lines, "\n")
			if ran[all] {
				return // another page has the same commands
			}
			ran[all] = true
			if step.block == "manifests" { // the objects of Helm have another owner of their fields
				p.shell(t, "helm uninstall etcd-operator --namespace etcd-operator && kubectl delete crd --all")
			}
			output := ""
			for _, line := range lines {
				output = p.shell(t, line)
			}
			step.check(t, output)
		})
	}
	t.Run("the manifest for Krew", p.krewArchivesAreThere)
}

// commandsOf returns the lines of the block below <!-- test: name -->, indented or in a fence.
func commandsOf(t *testing.T, page, block string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n<!-- test: "+block+" -->\n\n")
	if !found {
		t.Fatalf("%s has no block %s", page, block)
	}
	body, _, _ := strings.Cut(strings.TrimPrefix(rest, "```sh\n"), "\n\n")
	var lines []string
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(line); line != "```" {
			lines = append(lines, line)
		}
	}
	return lines
}

// published is a release at a registry and a file server of the test, and a user who has a Kubernetes.
type published struct {
	release  release
	registry string // host and port, with TLS
	plain    string // the same registry without TLS
	files    string
	env      []string
	dir      string
}

// publish pushes what make release builds, of images of a few bytes.
func publish(t *testing.T) published {
	t.Helper()
	kubeconfig := startKubernetes(t)
	r, _ := rendered(t)
	if err := r.plugin(t.Context(), options{platforms: "linux/amd64"}); err != nil {
		t.Fatal(err)
	}
	images := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	plain, secure, files := httptest.NewServer(images), httptest.NewTLSServer(images), httptest.NewTLSServer(fileServer(t, r))
	for _, server := range []*httptest.Server{plain, secure, files} {
		t.Cleanup(server.Close)
	}
	host := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	opts := options{from: r.dir, registry: host(plain) + "/etcd-suite", helm: program(t, "helm"), digests: filepath.Join(t.TempDir(), "digests.txt")}
	if err := push(t.Context(), opts, io.Discard); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	ca := filepath.Join(home, "ca.pem") // all servers of httptest have the same certificate
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "HOME="+home, "KUBECONFIG="+kubeconfig, "SSL_CERT_FILE="+ca, "CURL_CA_BUNDLE="+ca,
		"PATH="+os.Getenv("TEST_BIN")+":"+home+"/.local/bin:"+os.Getenv("PATH"))
	return published{release: r, registry: host(secure), plain: host(plain), files: host(files), env: env, dir: t.TempDir()}
}

// fileServer has the files of a release, and the source of its tag, at the paths of GitHub.
func fileServer(t *testing.T, r release) http.Handler {
	t.Helper()
	const project = "/etcd-suite/etcd-operator/"
	var source []file
	err := filepath.WalkDir("examples", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		source = append(source, file{name: "etcd-operator-" + r.version + "/" + path, content: content})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	packed, err := zip(source, commit)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc(project+"archive/refs/tags/v"+r.version+".tar.gz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packed) })
	download := project + "releases/download/v" + r.version + "/"
	mux.Handle(download, http.StripPrefix(download, http.FileServer(http.Dir(r.dir))))
	return mux
}

// shell runs a command of a page. Only the hosts are replaced. It drops --wait, because no node runs the Pods.
func (p published) shell(t *testing.T, line string) string {
	t.Helper()
	line = strings.NewReplacer("://ghcr.io/", "://"+p.registry+"/", "://github.com/", "://"+p.files+"/", " --wait --timeout 5m", "").Replace(line)
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", line)
	cmd.Dir, cmd.Env = p.dir, p.env
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", line, err, messages.String(), out.String())
	}
	return out.String()
}

// operatorsRun checks that the API server has the three Deployments, and that the registry has the images that they name.
func (p published) operatorsRun(t *testing.T, _ string) {
	images := strings.Fields(p.shell(t, `kubectl get deployments --namespace etcd-operator --output jsonpath='{.items[*].spec.template.spec.containers[*].image}'`))
	if len(images) != len(operators) {
		t.Errorf("the Deployments have the images %q, want three", images)
	}
	for _, image := range images {
		ref, err := name.NewDigest(strings.Replace(image, "ghcr.io/", p.plain+"/", 1))
		if err != nil {
			t.Errorf("%s is not selected by its digest: %v", image, err)
			continue
		}
		if _, err := remote.Index(ref); err != nil {
			t.Errorf("the registry does not have %s: %v", image, err)
		}
	}
	if crds := strings.Fields(p.shell(t, "kubectl get crd --output name")); len(crds) != 3 {
		t.Errorf("the CustomResourceDefinitions are %q", crds)
	}
}

func (p published) examplesAreThere(t *testing.T, _ string) {
	for _, example := range []string{"examples/etcdcluster.yaml", "examples/store/store.yaml"} {
		want, err := os.ReadFile(example)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(p.dir, example)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s was not unpacked, error %v", example, err)
		}
	}
}

var krewCommand = regexp.MustCompile(`kubectl krew install --manifest-url=(\S+)\n`)

// krewArchivesAreThere does what Krew does with the manifest that the pages name: it downloads the archive and compares its checksum.
func (p published) krewArchivesAreThere(t *testing.T) {
	for _, page := range []string{"docs/install.md", "docs/kubectl-etcd.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		match := krewCommand.FindStringSubmatch(string(text))
		if match == nil {
			t.Fatalf("%s does not name the manifest for Krew", page)
		}
		var manifest krewPlugin
		if err := yaml.UnmarshalStrict([]byte(p.shell(t, "curl -fsSL "+match[1])), &manifest); err != nil || len(manifest.Spec.Platforms) != 1 {
			t.Fatalf("the manifest has %d platforms, error %v", len(manifest.Spec.Platforms), err)
		}
		archive := manifest.Spec.Platforms[0]
		if sum := sha256.Sum256([]byte(p.shell(t, "curl -fsSL "+archive.URI))); hex.EncodeToString(sum[:]) != archive.SHA256 {
			t.Errorf("%s has SHA-256 %x, and the manifest %s", archive.URI, sum, archive.SHA256)
		}
	}
}
