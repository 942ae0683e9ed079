package run

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/test/localkube/cluster"
	"github.com/etcd-suite/etcd-operator/test/localkube/programs"
	"github.com/etcd-suite/etcd-operator/test/readme"
)

const (
	root = "../../.."
	// commandLimit is the time limit of one command. kubectl and helm have shorter ones of their own.
	commandLimit = 16 * time.Minute
)

// imagesOfRegistries are the images that the nodes of a reader pull from registries, as arguments of hack/images. The nodes
// of the local Kubernetes reach no registry, so the test loads images with these names that are built from the same source.
var imagesOfRegistries = map[string]func(dir string) []string{
	"etcd-3.6": func(dir string) []string { return []string{"etcd-3.6.16=" + dir} },
	"versitygw": func(dir string) []string {
		return []string{"--program", "docker.io/versity/versitygw:v1.8.0=" + dir + "/versitygw"}
	},
}

// A reader copies commands from the documentation into a shell.
type reader struct {
	t    *testing.T
	dir  string // a copy of the repository
	home string // the kubeconfig, and programs that are built for the test
	env  []string
	// session is what a terminal shows of the commands that use the suite.
	session strings.Builder
	// fresh is false if README_RUNNING is set. The test then uses a running local Kubernetes and removes only its namespace.
	fresh bool
}

// newReader starts a fresh local Kubernetes. The reader has a kubeconfig of its own, because the commands change it.
func newReader(t *testing.T) *reader {
	t.Helper()
	if os.Getenv("KUBECONFIG") != "" {
		t.Fatal("this test deletes and creates the local Kubernetes and uses no other: unset KUBECONFIG")
	}
	r := &reader{t: t, dir: t.TempDir(), fresh: os.Getenv("README_RUNNING") == ""}
	if r.fresh {
		r.clean()
	}
	r.home = t.TempDir()
	local := r.kubernetes()
	if err := readme.Clone(root, r.dir); err != nil {
		t.Fatal(err)
	}
	// Each command runs in a shell of its own, so the environment has what README.md exports: the plugin in bin.
	r.env = append(os.Environ(), "KUBECONFIG="+filepath.Join(r.home, "kubeconfig"), "PATH="+filepath.Join(r.dir, "bin")+":"+r.home+":"+local.Bin()+":"+os.Getenv("PATH"),
		"HELM_CACHE_HOME="+r.home, "HELM_CONFIG_HOME="+r.home, "HELM_DATA_HOME="+r.home)
	r.command("go build -o " + r.home + "/localkube ./test/localkube")
	r.loadImagesOfRegistries(t.TempDir())
	t.Cleanup(r.explain)
	return r
}

// kubernetes starts the local Kubernetes, unless it runs, and copies its kubeconfig.
func (r *reader) kubernetes() *cluster.Cluster {
	r.t.Helper()
	local, err := cluster.Up(r.t.Context(), cluster.Options{State: cluster.StateDir(), Bin: os.Getenv("TEST_BIN"), Nodes: 3, Progress: os.Stdout})
	if err != nil {
		r.t.Fatal(err)
	}
	kubeconfig, err := os.ReadFile(local.Kubeconfig())
	if err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.home, "kubeconfig"), kubeconfig, 0o600); err != nil {
		r.t.Fatal(err)
	}
	return local
}

func (r *reader) loadImagesOfRegistries(out string) {
	r.t.Helper()
	cache, err := programs.Open(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	args := []string{"run", "./hack/images", "--out", out}
	for name, arguments := range imagesOfRegistries {
		modules, err := programs.Select(name)
		if err != nil {
			r.t.Fatal(err)
		}
		dir, err := cache.Dir(modules[0])
		if err != nil {
			r.t.Fatal(err)
		}
		args = append(args, arguments(dir)...)
	}
	r.command("go " + strings.Join(args, " "))
	r.command("localkube load " + out + "/*.tar")
}

// run runs a block of commands and returns the output of the last one.
func (r *reader) run(file, name string) string {
	r.t.Helper()
	blocks, err := readme.Blocks(filepath.Join(root, file))
	if err != nil {
		r.t.Fatal(err)
	}
	block, err := readme.Find(blocks, name)
	if err != nil {
		r.t.Fatalf("%s: %v", file, err)
	}
	var last string
	for _, line := range block.Lines {
		command, rules := readme.Replace(line)
		for _, rule := range rules {
			r.t.Logf("%s: %q is replaced by %q: %s", file, rule.Command, rule.By, rule.Why)
		}
		if last = r.command(command); name == "use" {
			r.shown(line, last)
		}
	}
	return last
}

// show runs a command that only the session needs.
func (r *reader) show(line string) {
	r.t.Helper()
	r.shown(line, r.command(line))
}

func (r *reader) shown(line, output string) {
	const prompt, plain = "\x1b[1;32m$\x1b[0m \x1b[1m", "\x1b[0m"
	line, _, _ = strings.Cut(line, "#")
	r.session.WriteString(prompt + strings.TrimSpace(line) + plain + "\n" + output + "\n")
}

// command runs one command in the copy of the repository and returns what it prints to its standard output.
func (r *reader) command(line string) string {
	r.t.Helper()
	began := time.Now()
	output, all, err := r.shell(r.t.Context(), line)
	r.t.Logf("$ %s\n%s(%s)", line, all, time.Since(began).Round(100*time.Millisecond))
	if err != nil {
		r.t.Fatalf("%v: %s", err, line)
	}
	return strings.TrimSpace(output)
}

func (r *reader) shell(ctx context.Context, line string) (output, all string, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", line)
	command.Dir, command.Env = r.dir, r.env
	var out, messages bytes.Buffer
	command.Stdout, command.Stderr = &out, &messages
	err = command.Run()
	return out.String(), messages.String() + out.String(), err
}

// explain prints what a person needs to find out why a command failed.
func (r *reader) explain() {
	if !r.t.Failed() {
		return
	}
	for _, line := range []string{
		"kubectl get pods,persistentvolumeclaims --all-namespaces --output wide",
		"kubectl get etcdclusters,etcdbackups,etcdrestores --all-namespaces --output yaml",
		"kubectl get events --all-namespaces --sort-by=.lastTimestamp | tail -60",
		"kubectl logs --namespace etcd-operator --selector app.kubernetes.io/instance=etcd-operator --tail=40 --prefix",
	} {
		_, all, _ := r.shell(context.Background(), line)
		r.t.Logf("$ %s\n%s", line, all)
	}
	r.t.Log("the local Kubernetes is kept; remove it with make cluster-down")
}

// clean removes the local Kubernetes.
func (r *reader) clean() {
	r.t.Helper()
	if err := cluster.Down(r.t.Context(), cluster.StateDir(), os.Stdout); err != nil {
		r.t.Fatal(err)
	}
}
