package switchover

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

const root = "continuous-archive/daily/ns/source/"

var id = NewID(time.Unix(1_700_000_000, 0), "uid", "archive")

// If a later decision replaced an earlier one, the source would take writes again beside the standby that became the cluster.
func TestOnlyTheFirstDecisionCounts(t *testing.T) {
	store, err := file.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, found, err := ReadDecision(t.Context(), store, root, id); found || err != nil {
		t.Fatalf("there is a decision before any: %v", err)
	}
	standby := Decision{ID: id, Promoted: "ns/standby", Holder: "uid-2", Revision: 7, At: time.Unix(1, 0).UTC()}
	for _, d := range []Decision{standby, {ID: id}, {ID: id, Promoted: "ns/other", Holder: "uid-3"}} {
		made, err := Decide(t.Context(), store, root, d)
		if err != nil || made.Holder != standby.Holder || made.Off() {
			t.Errorf("%+v: the decision is %+v, %v", d, made, err)
		}
	}
}

// A source that is handed over, called off and handed over again has several ends. A standby must not take over at an old one, and the clock of the process that made
// the newest one may have been late.
func TestAStandbyClaimsTheEndThatWasNotCalledOff(t *testing.T) {
	store, err := file.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	newer, has := NewID(time.Unix(1_700_000_009, 0), "uid", "archive"), Standby{Name: "ns/standby", Holder: "uid-2", Timeline: 1, Revision: 5}
	for _, e := range []End{{ID: newer, Timeline: 1, Revision: 5}, {ID: id, Timeline: 1, Revision: 9, ClusterID: "7"}, {ID: id, Timeline: 1, Revision: 9, ClusterID: "7"}} {
		if err := PutEnd(t.Context(), store, root, e); err != nil {
			t.Fatal(err)
		}
	}
	if err := PutEnd(t.Context(), store, root, End{ID: id, Timeline: 1, Revision: 99}); !errors.Is(err, errOtherEnd) {
		t.Errorf("an end that is not stored is reported as stored: %v", err)
	}
	if _, err := Decide(t.Context(), store, root, Decision{ID: newer}); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := Claim(t.Context(), store, root, has, time.Now()); ok || err != nil {
		t.Errorf("a standby takes over at an end that was called off, or before it has all writes: %v", err)
	}
	if o, err := Claimable(t.Context(), store, root, has); o.End == nil || err != nil || o.End.ID != id {
		t.Errorf("it may claim %+v, %v", o, err)
	}
	has.Revision = 9
	for range 2 { // it was killed in between
		if d, ok, err := Claim(t.Context(), store, root, has, time.Now()); !ok || err != nil || d.ID != id {
			t.Errorf("it has claimed %+v, %v", d, err)
		}
	}
	if o, err := Claimable(t.Context(), store, root, has); o.Near || err != nil {
		t.Errorf("after all decisions, another end is near: %v", err)
	}
	next := NewID(time.Unix(1_700_000_099, 0), "uid", "archive")
	if err := Begin(t.Context(), store, root, next); err != nil {
		t.Fatal(err)
	}
	if o, err := Claimable(t.Context(), store, root, Standby{Holder: "uid-2", Timeline: 2}); !o.Near || o.End != nil || err != nil {
		t.Errorf("when the source begins to stop, the standby sees %+v, %v", o, err)
	}
	other := has
	other.Holder = "uid-3"
	if _, ok, err := Claim(t.Context(), store, root, other, time.Now()); ok || err == nil || !strings.Contains(err.Error(), has.Name) {
		t.Errorf("another standby takes over, too, or does not say why not: %v", err)
	}
	if _, d, handed, err := Settle(t.Context(), store, root, "", "7", time.Now()); !handed || err != nil || d.Promoted != has.Name {
		t.Errorf("the source does not see who took over: %+v, %v", d, err)
	}
	if _, _, handed, err := Settle(t.Context(), store, root, "", "8", time.Now()); handed || err != nil {
		t.Errorf("another cluster of that name was handed over, too: %v", err)
	}
}

// A standby that sees an end without its decision takes over, although the source takes writes.
func TestAPurgeDeletesNoDecision(t *testing.T) {
	memory := objstoretest.NewMemory()
	promoted := NewID(time.Unix(1_700_000_009, 0), "uid", "archive")
	open := NewID(time.Unix(1_700_000_020, 0), "uid", "archive")
	if err := errors.Join(Begin(t.Context(), memory, root, open), PutEnd(t.Context(), memory, root, End{ID: open, Timeline: 1, Revision: 9})); err != nil {
		t.Fatal(err)
	}
	for _, d := range []Decision{{ID: id}, {ID: promoted, Promoted: "ns/standby", Holder: "uid-2", Revision: 9}} {
		_, err := Decide(t.Context(), memory, root, d)
		if err = errors.Join(err, Begin(t.Context(), memory, root, d.ID), PutEnd(t.Context(), memory, root, End{ID: d.ID, Timeline: 1, Revision: 9})); err != nil {
			t.Fatal(err)
		}
	}
	if err := Purge(t.Context(), memory, root, "another writer", time.Now()); err != nil || len(memory.Deleted()) > 0 {
		t.Errorf("deleted for another writer: %v, %v", memory.Deleted(), err)
	}
	if err := Purge(t.Context(), memory, root, "uid", time.Now()); err != nil {
		t.Fatal(err)
	}
	want := []string{id.beginKey(root), id.endKey(root), open.beginKey(root), open.endKey(root)}
	if got := slices.Sorted(slices.Values(memory.Deleted())); !slices.Equal(got, want) {
		t.Errorf("deleted %v, want %v", got, want)
	}
	if d, decided, err := ReadDecision(t.Context(), memory, root, open); !decided || !d.Off() || err != nil {
		t.Errorf("an end without a decision is not called off: %+v, %v", d, err)
	}
}

// Who may write to the bucket decides what these objects have.
func TestDamagedObjectsAreRefused(t *testing.T) {
	dir := t.TempDir()
	store, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, filepath.FromSlash(id.endKey(root)))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]error{
		"": archive.ErrCorrupt, "{": archive.ErrCorrupt, `{"id":"other","revision":3}`: archive.ErrCorrupt, `{"id":"` + string(id) + `"}`: archive.ErrCorrupt,
		`{"formatVersion":99}`: archive.ErrNewerFormat, strings.Repeat(" ", 100<<10): archive.ErrCorrupt,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if e, found, err := ReadEnd(t.Context(), store, root, id); found || !errors.Is(err, want) {
			t.Errorf("%.40s: %+v, %v", content, e, err)
		}
	}
}

// The longest names of an archive must fit into a store. CheckRoot knows those of proofs.
func TestTheNamesOfASwitchoverAreShorterThanThoseOfProofs(t *testing.T) {
	if longest := (archive.ProofName{}).Key(root); len(id.decisionKey(root)) > len(longest) {
		t.Errorf("%s is longer than %s", id.decisionKey(root), longest)
	}
}

// endless lists more switchovers than a person asks for.
type endless struct{ objstore.Store }

func (endless) List(context.Context, string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for i := 0; ; i++ {
			if !yield(objstore.Object{Key: NewID(time.Unix(int64(i), 0), "uid", "archive").endKey(root)}, nil) {
				return
			}
		}
	}
}

// Who may write to the bucket decides how many there are. Their names would fill the memory of an operator that serves all namespaces.
func TestTooManySwitchoversAreRefused(t *testing.T) {
	if _, _, _, err := Settle(t.Context(), endless{}, root, "", "", time.Now()); !errors.Is(err, archive.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

// replacing is a store that replaces objects, although it is asked not to.
type replacing struct{ objstore.Store }

func (replacing) Put(context.Context, string, io.Reader) error { return nil }

// In such a store, the source and a standby both read their own decision, and both take writes.
func TestNoSwitchoverBeginsInAStoreThatReplacesObjects(t *testing.T) {
	if err := Begin(t.Context(), replacing{}, root, id); err == nil {
		t.Error("it begins")
	}
	memory := objstoretest.NewMemory()
	for range 2 {
		if err := Begin(t.Context(), memory, root, id); err != nil {
			t.Error(err)
		}
	}
}
