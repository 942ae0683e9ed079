package copying

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/follower"
	"github.com/etcd-suite/etcd-operator/internal/archive/proofs"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/inventory"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

func TestTheSecondLocationKeepsOfTheArchiveWhatTheFirstOneKeeps(t *testing.T) {
	b := newCopyBench(t)
	outdated := b.outdated()
	want := slices.DeleteFunc(b.here(), func(name string) bool { return slices.Contains(outdated, name) })
	w := b.copying()
	b.steps(w)
	if got := b.there(); len(outdated) == 0 || !slices.Equal(got, want) {
		t.Errorf("the second location has %q, want %q", got, want)
	}
	if v := w.look(); !v.Begun || !v.Covered || len(v.Ranges) != 1 || v.Lacking != "" || v.Unread != "" || v.Unpruned != "" {
		t.Errorf("the view is %+v", v)
	}
	before := b.puts
	for range 2 { // the first location still has what is deleted in the second one
		b.steps(b.copying())
	}
	if b.puts != before {
		t.Errorf("%d objects were written again", b.puts-before)
	}
}

// A user has the archive of a lost region only there, or it may be damaged: what retention would delete is all that is left.
func TestNothingIsDeletedInTheSecondLocation(t *testing.T) {
	for name, change := range map[string]func(*copyBench){
		"before the last copy of a snapshot has succeeded": func(b *copyBench) { b.spec.prunes = false },
		"while the last proof has failed":                  func(b *copyBench) { b.spec.job.Distrusted = &v1beta2.ArchiveProof{} },
		"while the newest snapshot is doubted":             func(b *copyBench) { b.spec.job.Doubted, b.spec.job.Keep.Verify = true, true },
		"while a proof there has failed": func(b *copyBench) {
			from := ""
			for _, key := range b.second.Keys() {
				if strings.HasSuffix(key, ".db") {
					from = key
					break
				}
			}
			p := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 2, To: 12, Failed: true}, FromKey: from}
			if err := proofs.Write(b.T.Context(), b.second, b.O.CopiedArchive().ArchiveRoot(), p, nil); err != nil {
				b.T.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newCopyBench(t)
			change(b)
			b.steps(b.copying())
			if got, want := b.there(), b.here(); !slices.Equal(got, want) {
				t.Errorf("the second location has %q, want all: %q", got, want)
			}
		})
	}
}

// The API server did not answer, so it was not known which points a waiting EtcdRestore may choose. The status said nothing, and the operator looked again
// after an hour.
func TestWhatAWaitingRestoreMayNeedIsKeptInTheSecondLocation(t *testing.T) {
	b := newCopyBench(t)
	w := b.copying()
	answering := b.job.Secrets
	b.job.Secrets = unlisted{answering}
	b.steps(w)
	if got, want := b.there(), b.here(); !slices.Equal(got, want) {
		t.Errorf("the second location has %q, want all: %q", got, want)
	}
	if v := w.look(); !strings.Contains(v.Unpruned, "no answer") || w.next.Sub(b.now) > limits.AskAgain {
		t.Errorf("it says %q, and looks again after %s", v.Unpruned, w.next.Sub(b.now))
	}
	b.job.Secrets = answering
	b.now = b.now.Add(limits.AskAgain)
	b.steps(w)
	if v := w.look(); v.Unpruned != "" || len(b.there()) == len(b.here()) {
		t.Errorf("the API server answers, and nothing is deleted: %q", v.Unpruned)
	}
}

// unlisted does not list.
type unlisted struct{ client.Reader }

func (unlisted) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("no answer")
}

func TestALostFirstLocationChangesNothingInTheSecondOne(t *testing.T) {
	b := newCopyBench(t)
	b.spec.prunes = false
	b.steps(b.copying())
	before := b.second.Keys()
	for _, key := range b.Keys() {
		if err := b.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	b.steps(b.copying())
	if after := b.second.Keys(); !slices.Equal(before, after) {
		t.Errorf("%d objects are left of %d", len(after), len(before))
	}
}

// A proof of the first location names its snapshots by their keys there. In the second location these do not exist, so that it would hold nothing.
func TestAPassedProofIsCopiedWithTheKeysOfTheSecondLocation(t *testing.T) {
	b := newCopyBench(t)
	b.spec.prunes = false
	var snapshots []string
	for _, key := range b.Keys() {
		if strings.HasSuffix(key, ".db") {
			snapshots = append(snapshots, key)
		}
	}
	root := b.O.ArchiveRoot()
	passed := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 12, To: 32}, FromKey: snapshots[1], ToKey: snapshots[3]}
	failed := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 22, To: 32, Failed: true}, FromKey: snapshots[2], ToKey: snapshots[3]}
	uncopied := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 32, To: 42}, FromKey: snapshots[3], ToKey: snapshots[4] + "x"}
	old := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 2, To: 12}, FromKey: snapshots[0], ToKey: snapshots[1]}
	for _, p := range []archive.Proof{passed, failed, uncopied, old} {
		if err := proofs.Write(t.Context(), b, root, p, nil); err != nil {
			t.Fatal(err)
		}
	}
	b.steps(b.copying())
	there := b.O.CopiedArchive().ArchiveRoot()
	names, err := proofs.List(t.Context(), b.second, there)
	if err != nil || !slices.Equal(names, []archive.ProofName{passed.ProofName}) {
		t.Fatalf("the second location has the proofs %+v, error %v", names, err)
	}
	p, err := proofs.Read(t.Context(), b.second, there, names[0])
	if err != nil || !b.second.Has(p.FromKey) || p.ToKey != b.keyThere(snapshots[3]) {
		t.Errorf("the proof is %+v, error %v", p, err)
	}
}

// A start names its base by the key in the first location. It is copied as it is.
func TestARevisionIsSelectedFromTheSecondLocation(t *testing.T) {
	b := newCopyBench(t)
	b.spec.prunes = false
	b.steps(b.copying())
	o := b.O.CopiedArchive()
	f, err := inventory.Of(t.Context(), b.second, o, catalog.Known{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Survey.Drop()
	for revision := int64(2); revision <= 47; revision += 5 {
		c, err := archive.Find(t.Context(), b.second, o.ArchiveRoot(), f.Bases, archive.Progress{}, archive.Target{Revision: revision})
		if err != nil || c.Reached.Revision != revision || !strings.HasPrefix(c.Base.Key, o.Target.Key) {
			t.Errorf("revision %d: %+v, error %v", revision, c.Reached, err)
		}
	}
}

// Each attempt looks at all of the second location. An object that only a person can remove had the operator do that every 10 seconds.
func TestAnotherObjectUnderTheKeyOfACopyIsAskedForOnceAMinute(t *testing.T) {
	if d := copyPause(1, fmt.Errorf("copy: %w", follower.ErrOtherCopy)); d != limits.Retry {
		t.Errorf("the pause is %s, want %s", d, limits.Retry)
	}
	if d := copyPause(100, errors.New("no answer")); d > lastCopyDelay {
		t.Errorf("the pause after a failure is %s", d)
	}
}
