package snapshot_test

import (
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

func TestAVerdictIsListedWithItsSnapshotAndIsNoSnapshot(t *testing.T) {
	store, e := snapshottest.NewBucket(t), snapshottest.Entry(snapshottest.Ours, 1, 1)
	store.Commit(e)
	if got := snapshottest.Scanned(t, store); got.Verdict != "" || got.Series != snapshottest.Ours || !got.Time.Equal(snapshottest.Noon.Add(time.Minute)) {
		t.Errorf("a new snapshot: %+v", got)
	}
	for _, result := range []snapshot.Result{snapshot.Passed, snapshot.Failed, snapshot.Failed, snapshot.Passed, snapshot.Passed} {
		want := snapshot.Verdict{FormatVersion: 1, Result: result, Time: snapshottest.Noon, Backup: "nightly", Tool: "test", Message: "it can be restored"}
		if err := snapshot.WriteVerdict(t.Context(), store, e.Key, want); err != nil {
			t.Fatal(err)
		}
		if got := snapshottest.Scanned(t, store); got.Verdict != result {
			t.Errorf("%s: the listing has %q", result, got.Verdict)
		}
		got, err := snapshot.ReadVerdict(t.Context(), store, e.Key, result)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if keys := store.Keys(); len(keys) != 3 {
			t.Errorf("the store has %q", keys)
		}
	}
}

func TestAVerdictThatCannotBeReadNeverCountsAsPassed(t *testing.T) {
	for name, object := range map[string]string{
		"a verdict with an unknown result": "verdict-maybe", "a verdict without a result": "verdict-", "a verdict with another suffix": "verdict-passed.json", "a verdict in upper case": "verdict-PASSED",
	} {
		t.Run(name, func(t *testing.T) {
			store, e := snapshottest.NewBucket(t), snapshottest.Entry(snapshottest.Ours, 1, 1)
			store.Commit(e)
			store.Write(e.Key+"."+object, []byte("{"))
			if got := snapshottest.Scanned(t, store); got.Verdict != "" {
				t.Errorf("verdict %q", got.Verdict)
			}
		})
	}
	t.Run("a verdict of an earlier object under the same key", func(t *testing.T) {
		store, e := snapshottest.NewBucket(t), snapshottest.Entry(snapshottest.Ours, 1, 1)
		if err := snapshot.WriteVerdict(t.Context(), store, e.Key, snapshot.Verdict{Result: snapshot.Passed}); err != nil {
			t.Fatal(err)
		}
		store.Age(snapshot.VerdictKey(e.Key, snapshot.Passed), time.Hour)
		store.Commit(e)
		if got := snapshottest.Scanned(t, store); got.Verdict != "" {
			t.Errorf("verdict %q", got.Verdict)
		}
	})
	t.Run("counts as failed if both results exist", func(t *testing.T) {
		store, e := snapshottest.NewBucket(t), snapshottest.Entry(snapshottest.Ours, 1, 1)
		store.Commit(e)
		store.Write(snapshot.VerdictKey(e.Key, snapshot.Failed), []byte("{}"))
		store.Write(snapshot.VerdictKey(e.Key, snapshot.Passed), []byte("{}"))
		if got := snapshottest.Scanned(t, store); got.Verdict != snapshot.Failed {
			t.Errorf("verdict %q", got.Verdict)
		}
	})
}

func TestAVerdictIgnoresUnknownFields(t *testing.T) {
	store, e := snapshottest.NewBucket(t), snapshottest.Entry(snapshottest.Ours, 1, 1)
	store.Write(snapshot.VerdictKey(e.Key, snapshot.Failed), []byte(`{"formatVersion": 9, "result": "failed", "message": "it is damaged", "shards": [1]}`))
	if got, err := snapshot.ReadVerdict(t.Context(), store, e.Key, snapshot.Failed); err != nil || got.Message != "it is damaged" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestWritingAVerdictThatWasKilledNeverTurnsAFailureIntoASuccess kills the write of each result at each call.
func TestWritingAVerdictThatWasKilledNeverTurnsAFailureIntoASuccess(t *testing.T) {
	for _, step := range []struct{ before, after snapshot.Result }{{"", snapshot.Passed}, {"", snapshot.Failed}, {snapshot.Passed, snapshot.Failed}, {snapshot.Failed, snapshot.Passed}, {snapshot.Passed, snapshot.Passed}, {snapshot.Failed, snapshot.Failed}} {
		for _, when := range []snapshottest.When{snapshottest.Before, snapshottest.InBetween, snapshottest.After} {
			for at := 1; at < 5; at++ {
				store, e := snapshottest.NewBucket(t), snapshottest.Entry(snapshottest.Ours, 1, 1)
				store.Commit(e)
				if step.before != "" {
					store.Write(snapshot.VerdictKey(e.Key, step.before), []byte("{}"))
				}
				err := snapshot.WriteVerdict(t.Context(), &snapshottest.Mortal{Store: store, At: at, When: when}, e.Key, snapshot.Verdict{Result: step.after})
				got := snapshottest.Scanned(t, store).Verdict
				if got == snapshot.Passed && step.after == snapshot.Failed && step.before != snapshot.Passed || err == nil && got != step.after {
					t.Errorf("from %q to %q, killed %s call %d: %q", step.before, step.after, when, at, got)
				}
				if err := snapshot.WriteVerdict(t.Context(), store, e.Key, snapshot.Verdict{Result: step.after}); err != nil {
					t.Fatal(err)
				}
				if got := snapshottest.Scanned(t, store).Verdict; got != step.after {
					t.Errorf("the next run leaves %q", got)
				}
			}
		}
	}
}

// Credentials without the permission to delete protect the snapshots if the credentials are stolen. The store then
// refuses each deletion, even if the object does not exist.
func TestAVerdictIsWrittenWithCredentialsThatMayNotDelete(t *testing.T) {
	store, e := snapshottest.NewBucket(t), snapshottest.Entry(snapshottest.Ours, 1, 1)
	store.Commit(e)
	for _, step := range []struct {
		result, want snapshot.Result
		refused      bool
	}{{snapshot.Passed, snapshot.Passed, false}, {snapshot.Passed, snapshot.Passed, false}, {snapshot.Failed, snapshot.Failed, false}, {snapshot.Failed, snapshot.Failed, false}, {snapshot.Passed, snapshot.Failed, true}} {
		err := snapshot.WriteVerdict(t.Context(), snapshottest.Undeletable{Store: store}, e.Key, snapshot.Verdict{Result: step.result})
		if refused := errors.Is(err, fs.ErrPermission); refused != step.refused || !refused && err != nil {
			t.Errorf("%s: %v", step.result, err)
		}
		if got := snapshottest.Scanned(t, store); got.Verdict != step.want {
			t.Errorf("%s: the listing has %q", step.result, got.Verdict)
		}
	}
}
