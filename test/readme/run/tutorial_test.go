package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/test/readme"
)

// A tutorial is a page whose blocks a reader runs from the first to the last one.
type tutorial struct {
	name   string
	before func(*reader)     // may be nil
	want   map[string]string // the last line that a block prints, by its name
}

// tutorials are in an order in which the store of the README is lost last.
var tutorials = []tutorial{
	{name: "first-cluster", want: map[string]string{"write": "hello", "lose": "hello"}},
	{name: "tls", want: map[string]string{"secrets": "example-client-tls", "connect": "hello"}},
	{name: "minio", before: (*reader).startPrivateStore, want: map[string]string{"restore": "hello"}},
	{name: "volume", want: map[string]string{"restore": "hello"}},
	{name: "point-in-time", want: map[string]string{"restore": "paid"}},
	{name: "second-region", before: (*reader).startSecondStore, want: map[string]string{"restore": "hello"}},
}

func (t tutorial) page() string { return "docs/tutorial-" + t.name + ".md" }

// A page that the test does not follow may have commands that do not work.
func TestEachTutorialIsFollowedByTheTest(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs/tutorial-*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var found, followed []string
	for _, page := range pages {
		found = append(found, "docs/"+filepath.Base(page))
	}
	for _, tutorial := range tutorials {
		followed = append(followed, tutorial.page())
	}
	slices.Sort(followed)
	if diff := cmp.Diff(found, followed); diff != "" {
		t.Errorf("tutorials (-pages +followed):\n%s", diff)
	}
}

// TestTutorialsWork follows one tutorial after the other, as a reader would. TUTORIALS=tls,minio follows only these two.
func TestTutorialsWork(t *testing.T) {
	chosen := strings.Split(os.Getenv("TUTORIALS"), ",")
	if chosen[0] == "" {
		t.Skip("it takes half an hour: run make tutorials")
	}
	r := newReader(t)
	r.run("README.md", "install")
	r.run("README.md", "store")
	for _, tutorial := range tutorials {
		if chosen[0] == "1" || slices.Contains(chosen, tutorial.name) {
			r.follow(tutorial)
		}
	}
	r.clean()
}

// follow runs each block of a tutorial as one script, and compares the last line that it prints.
func (r *reader) follow(t tutorial) {
	r.t.Helper()
	if t.before != nil {
		t.before(r)
	}
	blocks, err := readme.Blocks(filepath.Join(root, t.page()))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, block := range blocks {
		if block.Name == "" {
			continue
		}
		lines := make([]string, len(block.Lines))
		for i, line := range block.Lines {
			lines[i], _ = readme.Replace(line)
		}
		output := strings.Split(r.command(strings.Join(lines, "\n")), "\n")
		if want, checked := t.want[block.Name]; checked && output[len(output)-1] != want {
			r.t.Fatalf("%s: the block %s ends with %q, want %q", t.page(), block.Name, output[len(output)-1], want)
		}
	}
}

// startPrivateStore starts an S3 server on this machine whose certificate is of a private CA, and writes the CA where the reader works.
func (r *reader) startPrivateStore() {
	r.t.Helper()
	address, port, _ := strings.Cut(readme.PrivateStore, ":")
	r.command("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout ca.key -out ca.crt -subj /CN=private-ca 2>/dev/null")
	r.command("openssl req -newkey rsa:2048 -nodes -keyout store.key -out store.csr -subj /CN=store 2>/dev/null")
	r.command("openssl x509 -req -days 2 -in store.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out store.crt -extfile <(echo subjectAltName=IP:" + address + ") 2>/dev/null")
	data := r.t.TempDir()
	if err := os.Mkdir(filepath.Join(data, firstStore.bucket), 0o755); err != nil {
		r.t.Fatal(err)
	}
	server := exec.CommandContext(r.t.Context(), filepath.Join(os.Getenv("TEST_BIN"), "versitygw"), "--port", ":"+port,
		"--cert", filepath.Join(r.dir, "store.crt"), "--key", filepath.Join(r.dir, "store.key"), "--quiet", "posix", data)
	server.Dir, server.Env = r.t.TempDir(), []string{"ROOT_ACCESS_KEY=second", "ROOT_SECRET_KEY=second-secret"}
	if err := server.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = server.Wait() }) // the test's context has ended it
	r.env = append(r.env, strings.Fields(secondKeys)...)
}
