package switchover

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
)

const root = "continuous-archive/daily/ns/source/"

var id = NewID(time.Unix(1_700_000_000, 0), "uid")

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

// A source that is handed over, called off and handed over again has several ends. A standby must not take over at an old one.
func TestTheNewestEndIsRead(t *testing.T) {
	store, err := file.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, found, err := Newest(t.Context(), store, root); found || err != nil {
		t.Fatalf("there is an end before any: %v", err)
	}
	newer := NewID(time.Unix(1_700_000_009, 0), "uid")
	for _, e := range []End{{ID: newer, Timeline: 1, Revision: 9}, {ID: id, Timeline: 1, Revision: 5}, {ID: newer, Timeline: 1, Revision: 99}} {
		if err := PutEnd(t.Context(), store, root, e); err != nil {
			t.Fatal(err)
		}
	}
	if e, found, err := Newest(t.Context(), store, root); !found || err != nil || e.ID != newer || e.Revision != 9 {
		t.Errorf("the newest end is %+v, %v", e, err)
	}
	if err := Purge(t.Context(), store, root, "another writer"); err != nil {
		t.Fatal(err)
	}
	if _, found, err := ReadEnd(t.Context(), store, root, id); !found || err != nil {
		t.Errorf("the end was deleted for another writer: %v", err)
	}
	if err := Purge(t.Context(), store, root, "uid"); err != nil {
		t.Fatal(err)
	}
	if _, found, err := Newest(t.Context(), store, root); found || err != nil {
		t.Errorf("an end is left: %v", err)
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
