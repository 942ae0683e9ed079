package attempt_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients/clientstest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

const seriesFolder = "dir/snap.db/ns/b/0000000000000001/"

func TestAnAttemptSavesOneSnapshot(t *testing.T) {
	t.Run("a one-shot saves under its path", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		r := w.Attempt(statetest.One())
		want := &v1beta2.Snapshot{
			Path: "bucket/dir/snap.db", Revision: 42, Size: 4, SHA256: strings.Repeat("0", 64),
			ClusterID: "0000000000000001", CreatedAt: state.Stamp(statetest.T0),
		}
		if diff := cmp.Diff(want, r.Snapshot); diff != "" || r.Found || r.Failure != nil {
			t.Errorf("%+v, snapshot (-want +got):\n%s", r, diff)
		}
	})
	t.Run("asks for at least the revision of the cluster", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		w.Attempt(statetest.One())
		if got := w.Saves[0].MinRevision; got != 41 {
			t.Errorf("asked for revision %d at least", got)
		}
	})
	t.Run("saves an empty cluster, whose file contains no revision", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		w.Probe = func(context.Context, []string, ask.Access) []ask.Answer {
			return []ask.Answer{clientstest.Member("a", 1)}
		}
		w.Attempt(statetest.One())
		if got := w.Saves[0].MinRevision; got != 0 {
			t.Errorf("asked for revision %d at least", got)
		}
	})
	t.Run("recognises an earlier attempt by EtcdBackup and cluster", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		w.Attempt(statetest.One())
		r := w.Saves[0]
		if r.Attempt != "u/0000000000000001" || len(r.MemberIDs) != 1 {
			t.Errorf("attempt %q, members %v", r.Attempt, r.MemberIDs)
		}
	})
	t.Run("a series saves each snapshot under its own key", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		r := w.Attempt(statetest.Series())
		if want := "bucket/" + seriesFolder + "20261121T100000Z-00000000000000000041.db"; r.Snapshot == nil || r.Snapshot.Path != want {
			t.Errorf("%+v", r)
		}
	})
	t.Run("a series whose status was lost takes no snapshot before it is due", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		first := w.Attempt(statetest.Series())
		w.Now = statetest.At(statetest.T0.Add(59 * time.Minute))
		second := w.Attempt(statetest.Series())
		if !second.Found || len(w.Saves) != 1 || second.Snapshot.Path != first.Snapshot.Path {
			t.Errorf("%d saves, %+v", len(w.Saves), second)
		}
	})
	t.Run("a series takes the next when it is due", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		w.Attempt(statetest.Series())
		w.Now = statetest.At(statetest.T0.Add(time.Hour))
		if r := w.Attempt(statetest.Series()); r.Found || len(w.Saves) != 2 {
			t.Errorf("%d saves, %+v", len(w.Saves), r)
		}
	})
	t.Run("a snapshot from the future does not delay a series", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		w.Now = statetest.At(statetest.T0.AddDate(1, 0, 0))
		w.Attempt(statetest.Series())
		w.Now = statetest.At(statetest.T0)
		if r := w.Attempt(statetest.Series()); r.Found || r.Failure != nil {
			t.Errorf("%+v", r)
		}
	})
	t.Run("the operator's own identity never replaces an empty Secret", func(t *testing.T) {
		w := attempttest.NewWorld(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "empty"}})
		w.Attempt(statetest.One(func(s *state.State) { s.Spec.S3.AWSSecret = "empty" }))
		if w.Opened.Data == nil {
			t.Error("the store was opened as the operator")
		}
		w.Attempt(statetest.One())
		if w.Opened.Data != nil {
			t.Error("the store was opened with a Secret that nobody named")
		}
	})
}

// Defect 2: maxBackups deleted the objects whose names came first, also foreign ones.
func TestRetentionKeepsTheNewestSnapshots(t *testing.T) {
	hours := func(w *attempttest.World, n int, state state.State) (last state.Result) {
		for i := range n {
			w.Now = statetest.At(statetest.T0.Add(time.Duration(i) * time.Hour))
			last = w.Attempt(state)
		}
		return last
	}
	t.Run("the newest are kept", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		last := hours(w, 4, statetest.Series(statetest.Keep(2)))
		if got := w.Keys(); len(got) != 4 || last.Pruned != 1 || !strings.Contains(last.Snapshot.Path, got[2]) {
			t.Errorf("kept %q, last %+v", got, last)
		}
	})
	t.Run("all are kept without a limit", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		hours(w, 4, statetest.Series())
		if got := w.Keys(); len(got) != 8 {
			t.Errorf("kept %q", got)
		}
	})
	t.Run("a failed deletion does not fail the snapshot", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		w.Store = undeletable{Store: w.Store}
		last := hours(w, 2, statetest.Series(statetest.Keep(1)))
		if last.Failure != nil || last.Snapshot == nil || last.Pruned != 0 || !strings.Contains(last.PruneProblem, "object lock") {
			t.Errorf("%+v", last)
		}
	})
	t.Run("older snapshots are also deleted if the attempt finds a snapshot", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		hours(w, 2, statetest.Series())
		if r := w.Attempt(statetest.Series(statetest.Keep(1))); !r.Found || r.Pruned != 1 {
			t.Errorf("%+v", r)
		}
	})
}

type undeletable struct{ objstore.Store }

func (undeletable) Delete(context.Context, string) error { return errors.New("object lock") }

func TestAnAttemptFailsWithTheReasonOf(t *testing.T) {
	failing := func(err error) func(*attempttest.World) {
		return func(w *attempttest.World) {
			w.Save = func(context.Context, save.Request) (save.Saved, error) {
				return save.Saved{}, fmt.Errorf("save snapshot k: %w", err)
			}
		}
	}
	tests := map[string]struct {
		arrange func(*attempttest.World)
		state   state.State
		reason  string
		says    string
	}{
		"a panic is the failure of one attempt": {func(w *attempttest.World) {
			w.Probe = func(context.Context, []string, ask.Access) []ask.Answer { panic("index out of range") }
		}, statetest.One(), "Retrying", "Please report it"},
		"a missing Secret":               {func(*attempttest.World) {}, statetest.One(func(s *state.State) { s.Spec.S3.AWSSecret = "aws" }), "SecretMissing", "create Secret aws in namespace ns"},
		"a missing TLS Secret":           {func(*attempttest.World) {}, statetest.One(func(s *state.State) { s.Spec.ClientTLSSecret = "tls" }), "SecretMissing", "create Secret tls in namespace ns"},
		"a missing Secret with the user": {func(*attempttest.World) {}, statetest.One(func(s *state.State) { s.Spec.ClientAuthSecret = "login" }), "SecretMissing", "create Secret login in namespace ns"},
		"a user without the role root":   {failing(errors.Join(snapshot.ErrSource, rpctypes.ErrPermissionDenied)), statetest.One(), "EtcdAccessDenied", "grant-role"},
		"no user while authentication is on": {func(w *attempttest.World) {
			w.Probe = func(context.Context, []string, ask.Access) []ask.Answer {
				return []ask.Answer{clientstest.Member("a", 41, clientstest.Refuses)}
			}
		}, statetest.One(), "EtcdAccessDenied", "Set clientAuthSecret"},
		"a Secret that opens no store":  {func(w *attempttest.World) { w.Open = noStore }, statetest.One(), "AccessDenied", "the Secret has no credentials"},
		"a missing bucket":              {failing(objstore.ErrNoBucket), statetest.One(), "BucketNotFound", "Create the bucket bucket"},
		"a store that refuses":          {failing(fs.ErrPermission), statetest.One(), "AccessDenied", "the operator's own identity"},
		"an object that exists":         {failing(fs.ErrExist), statetest.One(), "ObjectExists", "never overwrites an object"},
		"a stream that breaks":          {failing(snapshot.ErrSource), statetest.One(), "EndpointUnreachable", "Check the member"},
		"a member that lags behind":     {failing(snapshot.ErrStale), statetest.One(), "Retrying", "lags behind"},
		"a spool that is full":          {failing(snapshot.ErrDisk), statetest.One(), "Retrying", "room for the database"},
		"a spool that is too small":     {failing(spool.ErrTooSmall), statetest.One(), "SpoolTooSmall", "backupOperator.spool.sizeLimit"},
		"an incomplete snapshot":        {failing(dbfile.ErrCorrupt), statetest.One(), "SnapshotCorrupt", "stored no snapshot"},
		"a snapshot without a trailer":  {failing(dbfile.ErrNoTrailer), statetest.One(), "SnapshotCorrupt", "stored no snapshot"},
		"a store that does not answer":  {failing(errors.New("connection reset")), statetest.One(), "StoreUnreachable", "connection reset"},
		"a store that answers too late": {func(w *attempttest.World) { w.Save = tooLate }, statetest.One(hasOneSecond), "DeadlineExceeded", "Raise backupPolicy.timeoutInSecond"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := attempttest.NewWorld(t)
			test.arrange(w)
			r := w.Attempt(test.state)
			if r.Failure == nil || r.Snapshot != nil || r.EndedAt.IsZero() {
				t.Fatalf("%+v", r)
			}
			if r.Failure.Reason != test.reason || !strings.Contains(r.Failure.Message, test.says) {
				t.Errorf("%s: %s\nwant %s with %q", r.Failure.Reason, r.Failure.Message, test.reason, test.says)
			}
		})
	}
}

func noStore(context.Context, connect.Access) (objstore.Store, error) {
	return nil, errors.New("the Secret has no credentials")
}

func hasOneSecond(s *state.State) { s.Spec.BackupPolicy = &v1beta2.BackupPolicy{TimeoutInSecond: 1} }

func tooLate(ctx context.Context, _ save.Request) (save.Saved, error) {
	<-ctx.Done()
	return save.Saved{}, ctx.Err()
}
