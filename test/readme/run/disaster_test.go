package run

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/test/readme"
)

const disasterPage = "docs/disaster-recovery.md"

func TestEachBlockOfCommandsOfTheDisasterPageBelongsToADisaster(t *testing.T) {
	blocks, err := readme.Blocks(filepath.Join(root, disasterPage))
	if err != nil {
		t.Fatal(err)
	}
	var page, caused []string
	for _, b := range blocks {
		if b.Name != "" {
			page = append(page, b.Name)
		}
	}
	for _, d := range disasters {
		caused = append(caused, d.name)
	}
	slices.Sort(page)
	slices.Sort(caused)
	if diff := cmp.Diff(page, caused); diff != "" {
		t.Errorf("disasters that the test causes (-page +caused):\n%s", diff)
	}
}

// TestEachDisasterIsOvercomeByItsPage causes one disaster after the other, and then runs the commands of the page alone. After each one
// the cluster must have the last key that was written before it. DISASTERS=node,region causes only these two.
func TestEachDisasterIsOvercomeByItsPage(t *testing.T) {
	chosen := strings.Split(os.Getenv("DISASTERS"), ",")
	if chosen[0] == "" {
		t.Skip("it takes half an hour: run make disasters")
	}
	for _, name := range chosen {
		if name != "1" && !slices.ContainsFunc(disasters, func(d disaster) bool { return d.name == name }) {
			t.Fatalf("DISASTERS names %q, which is no disaster", name)
		}
	}
	r := newReader(t)
	r.startSecondStore()
	r.run("README.md", "install")
	r.run("README.md", "store")
	r.command("kubectl create namespace etcd")
	r.command("kubectl apply -n etcd -f examples/etcdcluster.yaml -f examples/secret-s3.yaml")
	r.command("kubectl wait -n etcd etcd/example --for=condition=Ready --timeout=180s")
	r.archiveTo(firstStore, "")
	var times []string
	for n, d := range disasters {
		if chosen[0] != "1" && !slices.Contains(chosen, d.name) {
			continue
		}
		began := time.Now()
		recovery := r.overcome(d, fmt.Sprintf("hello-%d", n))
		times = append(times, fmt.Sprintf("%-18s  %4.0fs of commands, %4.0fs in all", d.name, recovery.Seconds(), time.Since(began).Seconds()))
	}
	t.Logf("times:\n%s", strings.Join(times, "\n"))
	r.clean()
}

// overcome writes a greeting, causes a disaster, runs the commands of the page, and reads the greeting. It returns how long the
// commands of the page took, and the wait until the cluster is ready.
func (r *reader) overcome(d disaster, greeting string) time.Duration {
	r.t.Helper()
	if d.before != nil {
		d.before(r)
	}
	r.put(greeting)
	d.cause(r)
	began := time.Now()
	r.script(disasterPage, d.name)
	r.command("kubectl wait -n etcd etcd/example --for=condition=Ready --timeout=300s")
	took := time.Since(began)
	if got := r.get(); got != greeting {
		r.t.Fatalf("after the disaster %q etcd returns %q, want %q", d.name, got, greeting)
	}
	if d.after != nil {
		d.after(r)
	}
	return took
}

// put writes the greeting, and waits until the archive has it: that is at most maxLag, an upload and a minute until the status says so.
func (r *reader) put(greeting string) {
	r.t.Helper()
	r.command("kubectl etcd ctl -n etcd example -- put greeting " + greeting)
	revision := r.command("kubectl etcd ctl -n etcd example -- get greeting -w fields | sed -n 's/^\"ModRevision\" : //p'")
	r.command(`for i in $(seq 120); do to=$(kubectl get -n etcd etcdbackup/example-continuous -o jsonpath='{.status.recoverable[-1:].to.revision}'); ` +
		`if [ "${to:-0}" -ge ` + revision + ` ]; then exit 0; fi; sleep 1; done; exit 1`)
}

func (r *reader) get() string {
	r.t.Helper()
	return r.command("kubectl etcd ctl -n etcd example -- get greeting --print-value-only")
}

// script runs a block as one script, because it has lines that belong together.
func (r *reader) script(file, name string) {
	r.t.Helper()
	blocks, err := readme.Blocks(filepath.Join(root, file))
	if err != nil {
		r.t.Fatal(err)
	}
	block, err := readme.Find(blocks, name)
	if err != nil {
		r.t.Fatalf("%s: %v", file, err)
	}
	text, _ := readme.Replace(strings.Join(block.Lines, "\n"))
	r.command(text)
}
