package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// world is one healthy member, and a directory as the store.
type world struct {
	*job
	t     *testing.T
	store objstore.Store
	mu    sync.Mutex // several attempts may run at the same time
	// saves are the snapshot requests that were made.
	saves []snapshot.Request
	// opened is the access of the store that was opened last.
	opened connect.Access
	// content is the number of keys in each snapshot.
	content int64
}

func newWorld(t *testing.T, secrets ...*corev1.Secret) *world {
	t.Helper()
	store, err := file.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	known := fake.NewClientBuilder().WithScheme(scheme)
	for _, s := range secrets {
		known = known.WithObjects(s)
	}
	w := &world{t: t, store: store}
	w.job = &job{
		secrets: known.Build(), spool: spool.New(t.TempDir(), spool.Options{}), tests: newTests(1, 0, dbfile.TryRestore), now: func() time.Time { return t0 },
		probe:  func(context.Context, []string, ask.Access) []ask.Answer { return []ask.Answer{member("a", 41)} },
		source: func(string, ask.Access) snapshot.Source { return nil },
		open: func(_ context.Context, l connect.Access) (objstore.Store, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.opened = l
			return w.store, nil
		},
		save: w.saved,
	}
	return w
}

// saved stores an object and its manifest without looking at etcd.
func (w *world) saved(ctx context.Context, r snapshot.Request) (snapshot.Saved, error) {
	w.mu.Lock()
	w.saves = append(w.saves, r)
	w.mu.Unlock()
	m := snapshot.Manifest{
		FormatVersion: snapshot.FormatVersion, Cluster: r.Cluster, EtcdVersion: r.EtcdVersion, Revision: r.MinRevision + 1, Keys: w.content,
		Size: 4, SHA256: strings.Repeat("0", 64), CreatedAt: r.Time.UTC(), Attempt: r.Attempt, Backup: r.Backup, NoQuorum: r.NoQuorum,
	}
	content, err := m.Encode()
	if err != nil {
		return snapshot.Saved{}, err
	}
	err = errors.Join(w.store.Put(ctx, r.Key, strings.NewReader("data")), w.store.Put(ctx, snapshot.ManifestKey(r.Key), strings.NewReader(string(content))))
	return snapshot.Saved{Manifest: m}, err
}

// attempt runs one attempt for a State.
func (w *world) attempt(s State) Result {
	w.t.Helper()
	return w.job.attempt(w.t.Context(), jobSpecOf(s), &jobProgress{})
}

func (w *world) keys() []string {
	w.t.Helper()
	var keys []string
	for object, err := range w.store.List(w.t.Context(), "") {
		if err != nil {
			w.t.Fatal(err)
		}
		keys = append(keys, object.Key)
	}
	return keys
}

func at(now time.Time) func() time.Time { return func() time.Time { return now } }

func keep(n int) change {
	return func(s *State) { s.Spec.BackupPolicy.MaxBackups = n }
}

const seriesFolder = "dir/snap.db/ns/b/0000000000000001/"

func TestAnAttemptSavesOneSnapshot(t *testing.T) {
	t.Run("a one-shot saves under its path", func(t *testing.T) {
		w := newWorld(t)
		r := w.attempt(one())
		want := &v1beta2.Snapshot{
			Path: "bucket/dir/snap.db", Revision: 42, Size: 4, SHA256: strings.Repeat("0", 64),
			ClusterID: "0000000000000001", CreatedAt: stamp(t0),
		}
		if diff := cmp.Diff(want, r.Snapshot); diff != "" || r.Found || r.Failure != nil {
			t.Errorf("%+v, snapshot (-want +got):\n%s", r, diff)
		}
	})
	t.Run("asks for at least the revision of the cluster", func(t *testing.T) {
		w := newWorld(t)
		w.attempt(one())
		if got := w.saves[0].MinRevision; got != 41 {
			t.Errorf("asked for revision %d at least", got)
		}
	})
	t.Run("saves an empty cluster, whose file contains no revision", func(t *testing.T) {
		w := newWorld(t)
		w.probe = func(context.Context, []string, ask.Access) []ask.Answer { return []ask.Answer{member("a", 1)} }
		w.attempt(one())
		if got := w.saves[0].MinRevision; got != 0 {
			t.Errorf("asked for revision %d at least", got)
		}
	})
	t.Run("recognises an earlier attempt by EtcdBackup and cluster", func(t *testing.T) {
		w := newWorld(t)
		w.attempt(one())
		r := w.saves[0]
		if r.Attempt != "u/0000000000000001" || len(r.MemberIDs) != 1 {
			t.Errorf("attempt %q, members %v", r.Attempt, r.MemberIDs)
		}
	})
	t.Run("a series saves each snapshot under its own key", func(t *testing.T) {
		w := newWorld(t)
		r := w.attempt(series())
		if want := "bucket/" + seriesFolder + "20261121T100000Z-00000000000000000041.db"; r.Snapshot == nil || r.Snapshot.Path != want {
			t.Errorf("%+v", r)
		}
	})
	t.Run("a series whose status was lost takes no snapshot before it is due", func(t *testing.T) {
		w := newWorld(t)
		first := w.attempt(series())
		w.now = at(t0.Add(59 * time.Minute))
		second := w.attempt(series())
		if !second.Found || len(w.saves) != 1 || second.Snapshot.Path != first.Snapshot.Path {
			t.Errorf("%d saves, %+v", len(w.saves), second)
		}
	})
	t.Run("a series takes the next when it is due", func(t *testing.T) {
		w := newWorld(t)
		w.attempt(series())
		w.now = at(t0.Add(time.Hour))
		if r := w.attempt(series()); r.Found || len(w.saves) != 2 {
			t.Errorf("%d saves, %+v", len(w.saves), r)
		}
	})
	t.Run("a snapshot from the future does not delay a series", func(t *testing.T) {
		w := newWorld(t)
		w.now = at(t0.AddDate(1, 0, 0))
		w.attempt(series())
		w.now = at(t0)
		if r := w.attempt(series()); r.Found || r.Failure != nil {
			t.Errorf("%+v", r)
		}
	})
	t.Run("the operator's own identity never replaces an empty Secret", func(t *testing.T) {
		w := newWorld(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "empty"}})
		w.attempt(one(func(s *State) { s.Spec.S3.AWSSecret = "empty" }))
		if w.opened.Data == nil {
			t.Error("the store was opened as the operator")
		}
		w.attempt(one())
		if w.opened.Data != nil {
			t.Error("the store was opened with a Secret that nobody named")
		}
	})
}

// Defect 2: maxBackups deleted the objects whose names came first, also foreign ones.
func TestRetentionKeepsTheNewestSnapshots(t *testing.T) {
	hours := func(w *world, n int, state State) (last Result) {
		for i := range n {
			w.now = at(t0.Add(time.Duration(i) * time.Hour))
			last = w.attempt(state)
		}
		return last
	}
	t.Run("the newest are kept", func(t *testing.T) {
		w := newWorld(t)
		last := hours(w, 4, series(keep(2)))
		if got := w.keys(); len(got) != 4 || last.Pruned != 1 || !strings.Contains(last.Snapshot.Path, got[2]) {
			t.Errorf("kept %q, last %+v", got, last)
		}
	})
	t.Run("all are kept without a limit", func(t *testing.T) {
		w := newWorld(t)
		hours(w, 4, series())
		if got := w.keys(); len(got) != 8 {
			t.Errorf("kept %q", got)
		}
	})
	t.Run("a failed deletion does not fail the snapshot", func(t *testing.T) {
		w := newWorld(t)
		w.store = undeletable{w.store}
		last := hours(w, 2, series(keep(1)))
		if last.Failure != nil || last.Snapshot == nil || last.Pruned != 0 || !strings.Contains(last.PruneProblem, "object lock") {
			t.Errorf("%+v", last)
		}
	})
	t.Run("older snapshots are also deleted if the attempt finds a snapshot", func(t *testing.T) {
		w := newWorld(t)
		hours(w, 2, series())
		if r := w.attempt(series(keep(1))); !r.Found || r.Pruned != 1 {
			t.Errorf("%+v", r)
		}
	})
}

type undeletable struct{ objstore.Store }

func (undeletable) Delete(context.Context, string) error { return errors.New("object lock") }

func TestAnAttemptFailsWithTheReasonOf(t *testing.T) {
	failing := func(err error) func(*world) {
		return func(w *world) {
			w.save = func(context.Context, snapshot.Request) (snapshot.Saved, error) {
				return snapshot.Saved{}, fmt.Errorf("save snapshot k: %w", err)
			}
		}
	}
	tests := map[string]struct {
		arrange func(*world)
		state   State
		reason  string
		says    string
	}{
		"a panic is the failure of one attempt": {func(w *world) {
			w.probe = func(context.Context, []string, ask.Access) []ask.Answer { panic("index out of range") }
		}, one(), "Retrying", "Please report it"},
		"a missing Secret":               {func(*world) {}, one(func(s *State) { s.Spec.S3.AWSSecret = "aws" }), "SecretMissing", "create Secret aws in namespace ns"},
		"a missing TLS Secret":           {func(*world) {}, one(func(s *State) { s.Spec.ClientTLSSecret = "tls" }), "SecretMissing", "create Secret tls in namespace ns"},
		"a missing Secret with the user": {func(*world) {}, one(func(s *State) { s.Spec.ClientAuthSecret = "login" }), "SecretMissing", "create Secret login in namespace ns"},
		"a user without the role root":   {failing(errors.Join(snapshot.ErrSource, rpctypes.ErrPermissionDenied)), one(), "EtcdAccessDenied", "grant-role"},
		"no user while authentication is on": {func(w *world) {
			w.probe = func(context.Context, []string, ask.Access) []ask.Answer {
				return []ask.Answer{member("a", 41, refuses)}
			}
		}, one(), "EtcdAccessDenied", "Set clientAuthSecret"},
		"a Secret that opens no store":  {func(w *world) { w.open = noStore }, one(), "AccessDenied", "the Secret has no credentials"},
		"a missing bucket":              {failing(objstore.ErrNoBucket), one(), "BucketNotFound", "Create the bucket bucket"},
		"a store that refuses":          {failing(fs.ErrPermission), one(), "AccessDenied", "the operator's own identity"},
		"an object that exists":         {failing(fs.ErrExist), one(), "ObjectExists", "never overwrites an object"},
		"a stream that breaks":          {failing(snapshot.ErrSource), one(), "EndpointUnreachable", "Check the member"},
		"a member that lags behind":     {failing(snapshot.ErrStale), one(), "Retrying", "lags behind"},
		"a spool that is full":          {failing(snapshot.ErrDisk), one(), "Retrying", "room for the database"},
		"a spool that is too small":     {failing(spool.ErrTooSmall), one(), "SpoolTooSmall", "backupOperator.spool.sizeLimit"},
		"an incomplete snapshot":        {failing(dbfile.ErrCorrupt), one(), "SnapshotCorrupt", "stored no snapshot"},
		"a snapshot without a trailer":  {failing(dbfile.ErrNoTrailer), one(), "SnapshotCorrupt", "stored no snapshot"},
		"a store that does not answer":  {failing(errors.New("connection reset")), one(), "StoreUnreachable", "connection reset"},
		"a store that answers too late": {func(w *world) { w.save = tooLate }, one(hasOneSecond), "DeadlineExceeded", "Raise backupPolicy.timeoutInSecond"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test.arrange(w)
			r := w.attempt(test.state)
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

func hasOneSecond(s *State) { s.Spec.BackupPolicy = &v1beta2.BackupPolicy{TimeoutInSecond: 1} }

func tooLate(ctx context.Context, _ snapshot.Request) (snapshot.Saved, error) {
	<-ctx.Done()
	return snapshot.Saved{}, ctx.Err()
}
