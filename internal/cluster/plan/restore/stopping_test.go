package restore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// A deletion with --force removes no finalizer, so a person who follows only that advice is stuck. Each advice with --force comes from one
// function, which names the finalizers.
func TestEachAdviceToForceADeletionNamesFinalizers(t *testing.T) {
	held := func(name string) state.Member {
		return state.Member{Name: name, Pod: state.PodDeleting, Held: true, Finalizers: "example.com/audit"}
	}
	want := "Make sure that these nodes are off. Then delete the Pods with --force --grace-period=0. " +
		"Finalizers keep the objects of these Pods, so remove them, too: example-b: example.com/audit."
	if got := state.HowToEnd(state.Member{Name: "example-a", Pod: state.PodDeleting}, held("example-b")); got != want {
		t.Errorf("the advice is %q, want %q", got, want)
	}
	if got := restore.SeedIsKept((state.State{}), held("example-seed")); !strings.Contains(got, "example-seed: example.com/audit") {
		t.Errorf("the advice about a seed that is kept is %q", got)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, "_test.go") && file != "stopping.go" && strings.Contains(string(text), "--grace-period") {
			t.Errorf("%s has an advice of its own, want howToEnd", file)
		}
	}
}
