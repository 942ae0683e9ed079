package attempttest

import (
	"bytes"
	"context"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/backup/status"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
)

// StoredThen is a store that received each object at the time in its name.
type StoredThen struct{ objstore.Store }

// List is that of objstore.Store.
func (s StoredThen) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for o, err := range s.Store.List(ctx, prefix) {
			if named, ok := snapshot.ParseKey(o.Key); ok {
				o.ModTime = named.Time
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

// SnapshotsIn returns how many snapshots are below a prefix.
func (w *World) SnapshotsIn(folder string) (n int) {
	for _, key := range w.Keys() {
		if strings.HasPrefix(key, folder) && strings.HasSuffix(key, ".db") {
			n++
		}
	}
	return n
}

// HoldsNothing saves the cluster once an hour, four times, and fails the test if the series is then held by a failed proof. It returns the State.
func HoldsNothing(t *testing.T, w *World, s state.State, present time.Time) state.State {
	t.Helper()
	for hour := range 4 {
		w.Now = statetest.At(present.Add(time.Duration(hour-10) * time.Hour))
		r := w.Attempt(s)
		s.Attempt = &state.Attempt{Generation: s.Generation, Number: 1, StartedAt: w.Now(), Result: &r}
		s.Now = w.Now()
		newest := archive.Point{Revision: r.Snapshot.Revision, At: s.Now}
		s.Archive = &state.Archive{Begun: true, Surveyed: true, Covered: true, Ranges: []archive.Range{{Timeline: 1, From: newest, To: newest}}}
		step, _ := plan.Plan(s)
		s.Status, s.Attempt = status.NewStatus(s, step, nil), nil
		c := state.ConditionOf(s.Status.Conditions, v1beta2.ConditionReady)
		t.Logf("%T: Ready %s %s: %.150s; pruned %d: %.120s; proof wanted %v", step, c.Status, c.Reason, c.Message, r.Pruned, r.PruneProblem, state.ProofWanted(s))
		if hour == 3 && (c.Reason == v1beta2.ReasonArchiveCorrupt || r.Pruned == 0) {
			t.Errorf("in %s: %d pruned, %s", s.Target.Path(), r.Pruned, c.Message)
		}
	}
	return s
}

// Steady streams the same database each time.
type Steady []byte

// Snapshot is that of snapshot.Source.
func (s Steady) Snapshot(context.Context) (io.ReadCloser, int64, error) {
	return io.NopCloser(bytes.NewReader(s)), int64(len(s)), nil
}

// MemberOfDatabase is the one member of the cluster that db is of.
const MemberOfDatabase = 7

// Leaves stores what remains if an operator is killed between an object and its manifest: the object and its draft.
func (w *World) Leaves(key, uid string) (draft string) {
	w.T.Helper()
	digits := "0123456789abcdef"
	draft = key + ".draft-" + digits
	m := snapshot.Manifest{
		FormatVersion: snapshot.FormatVersion, Revision: 9, Keys: 1, Size: 4, SHA256: strings.Repeat(digits, 4), CreatedAt: statetest.T0,
		Cluster: snapshot.Cluster{Namespace: "ns", Name: "b", ID: "0000000000000001"}, Attempt: uid + "/0000000000000001",
	}
	content, err := m.Encode()
	if err != nil {
		w.T.Fatal(err)
	}
	for name, text := range map[string]string{key: "data", draft: string(content)} {
		if err := w.Store.Put(w.T.Context(), name, strings.NewReader(text)); err != nil {
			w.T.Fatal(err)
		}
	}
	return draft
}

// Purges deletes the snapshots of the EtcdBackup of a State.
func (w *World) Purges(s state.State) state.Result {
	w.T.Helper()
	o := state.JobSpecOf(s)
	o.Kind = state.KindPurge
	return w.Run(w.T.Context(), o, &queue.Progress{})
}

// Place puts an object into a store.
func Place(t *testing.T, m *objstoretest.Memory, key, content string) {
	t.Helper()
	if err := m.Put(t.Context(), key, strings.NewReader(content)); err != nil {
		t.Fatal(err)
	}
}

// Has reports whether the store has the snapshot that a status names.
func (w *World) Has(s *v1beta2.Snapshot) bool {
	key := strings.TrimPrefix(s.Path, "bucket/")
	keys := "\n" + strings.Join(w.Keys(), "\n") + "\n"
	return strings.Contains(keys, "\n"+key+"\n") && strings.Contains(keys, "\n"+snapshot.ManifestKey(key)+"\n")
}

// DrillAgain runs the restore test of a snapshot.
func (w *World) DrillAgain(s v1beta2.Snapshot, changes ...statetest.Change) state.Result {
	w.T.Helper()
	o := state.JobSpecOf(statetest.Series(changes...))
	o.Kind, o.Newest = state.KindDrill, s
	return w.Run(w.T.Context(), o, &queue.Progress{})
}

// Drilling makes every restore test end with that result, and records the keys.
func Drilling(w *World, found proof.RestoreTestResult, err error) *[]string {
	var keys []string
	w.Drill = func(_ context.Context, r proof.RestoreTestRequest) (proof.RestoreTestResult, error) {
		keys = append(keys, r.Key)
		return found, err
	}
	return &keys
}
