package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kubeevents "k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients/clientstest"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

var errKilled = errors.New("killed")

// life is one run of an operator. It ends at a call to its store or a write to the API, which is chosen by number.
type life struct {
	at   int // 0 is never
	when string

	mu    sync.Mutex
	calls int
	dead  bool
}

const (
	diesBefore = "before"
	diesDuring = "in the middle of"
	diesAfter  = "after"
)

// call counts a call. It reports whether the call may be made, and whether it is the last.
func (l *life) call() (last bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	if l.calls == l.at && l.when == diesBefore {
		l.dead = true
	}
	if l.dead || l.at > 0 && l.calls > l.at {
		return false, errKilled
	}
	return l.calls == l.at, nil
}

// end ends the life after its last call, so that nothing changes afterwards.
func (l *life) end(last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = l.dead || last
}

func (l *life) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// do makes a call if the life is not over.
func (l *life) do(call func() error) error {
	last, err := l.call()
	if err != nil {
		return err
	}
	defer l.end(last)
	if err := call(); err != nil || !last {
		return err
	}
	return errKilled
}

// mortalStore is a store that a life uses.
type mortalStore struct {
	objstore.Store
	life *life
}

func (m mortalStore) Put(ctx context.Context, key string, body io.Reader) error {
	last, err := m.life.call()
	if err != nil {
		return err
	}
	defer m.life.end(last)
	if last && m.life.when == diesDuring {
		body = io.MultiReader(io.LimitReader(body, 100), failing{errKilled})
	}
	if err := m.Store.Put(ctx, key, body); err != nil || !last {
		return err
	}
	return errKilled
}

func (m mortalStore) Get(ctx context.Context, key string) (body io.ReadCloser, err error) {
	err = m.life.do(func() (err error) { body, err = m.Store.Get(ctx, key); return err })
	return body, err
}

func (m mortalStore) Delete(ctx context.Context, key string) error {
	return m.life.do(func() error { return m.Store.Delete(ctx, key) })
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// afterlife is what outlives an operator: the API, the bucket, and the time.
type afterlife struct {
	t     *testing.T
	api   client.WithWatch
	store objstore.Store
	// other is the store of the second location. It cannot be reached while away is set.
	other objstore.Store
	away  atomic.Bool
	dir   string
	clock atomicClock
	db    attempttest.Steady
}

// atomicClock is read by attempts whose life is over, too.
type atomicClock struct{ nanoseconds atomic.Int64 }

func (c *atomicClock) now() time.Time  { return time.Unix(0, c.nanoseconds.Load()).UTC() }
func (c *atomicClock) set(t time.Time) { c.nanoseconds.Store(t.UnixNano()) }

func newAfterlife(t *testing.T, db attempttest.Steady, changes ...statetest.Change) *afterlife {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	a := &afterlife{t: t, dir: t.TempDir(), db: db}
	a.clock.set(time.Now())
	if a.store, err = file.Open(a.dir); err != nil {
		t.Fatal(err)
	}
	a.other = newSecond(t)
	made := object(statetest.Series(changes...))
	a.api = fake.NewClientBuilder().WithScheme(scheme).WithObjects(made).WithStatusSubresource(&v1beta2.EtcdBackup{}).Build()
	return a
}

// operator begins a life.
func (a *afterlife) operator(l *life) *Reconciler {
	a.t.Helper()
	now := a.clock.now
	mortal := interceptor.NewClient(a.api, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			return l.do(func() error { return c.Patch(ctx, o, p, options...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption) error {
			return l.do(func() error { return c.SubResource(sub).Patch(ctx, o, p, options...) })
		},
	})
	m, err := newMetrics(prometheus.NewRegistry())
	if err != nil {
		a.t.Fatal(err)
	}
	from := clientstest.Member("a", 11)
	from.Status.MemberID = attempttest.MemberOfDatabase
	take, err := attempt.New(clients.New(mortal, nil, now), spool.New(a.t.TempDir(), spool.Options{}), queue.NewTests(1, 0, dbfile.TryRestore))
	if err != nil {
		a.t.Fatal(err)
	}
	take.Probe = func(context.Context, []string, ask.Access) []ask.Answer { return []ask.Answer{from} }
	take.Drill = func(ctx context.Context, r proof.RestoreTestRequest) (proof.RestoreTestResult, error) {
		body, err := r.Store.Get(ctx, r.Key)
		if err != nil {
			return proof.RestoreTestResult{}, err
		}
		return proof.RestoreTestResult{}, body.Close()
	}
	take.Source = func(string, ask.Access) save.Source { return a.db }
	take.Open = func(ctx context.Context, at connect.Access) (objstore.Store, error) {
		if at.Bucket == "other" {
			return a.openSecond(ctx, l)
		}
		return mortalStore{a.store, l}, nil
	}
	return &Reconciler{
		client: mortal, live: mortal, events: kubeevents.NewFakeRecorder(1000), attempts: queue.NewAttempts(nil), copies: queue.NewAttempts(nil), archives: archiving.New(nil, nil), metrics: m,
		now: now, attempt: take.Run, identity: grant.Everything(),
	}
}

// live runs an operator until done returns true or the life is over. Time passes as the operator requests.
func (a *afterlife) live(l *life, done func() bool) {
	a.t.Helper()
	r := a.operator(l)
	defer r.attempts.ForgetOthers(request.NamespacedName, "")
	defer r.copies.ForgetOthers(request.NamespacedName, "")
	for range 200 {
		result, err := r.Reconcile(a.t.Context(), request)
		switch {
		case l.over():
			return
		case err != nil:
			a.t.Fatalf("pass: %v", err)
		case done():
			return
		}
		if !a.await(r, l) && result.RequeueAfter > 0 {
			a.clock.set(a.clock.now().Add(result.RequeueAfter))
		}
	}
	a.t.Fatal("the operator does not come to an end")
}

// await waits for the end of an attempt, and reports whether there was one.
func (a *afterlife) await(r *Reconciler, l *life) bool {
	found := false
	for !l.over() {
		attempt, copied := r.attempts.Find(keyOf(object(statetest.One()))), r.copies.Find(keyOf(object(statetest.One())))
		ended := func(a *state.Attempt) bool { return a == nil || a.Result != nil }
		if ended(attempt) && ended(copied) {
			return found || attempt != nil || copied != nil
		}
		found = true
		runtime.Gosched()
	}
	return found
}

func (a *afterlife) backup() *v1beta2.EtcdBackup {
	a.t.Helper()
	var b v1beta2.EtcdBackup
	if err := a.api.Get(a.t.Context(), request.NamespacedName, &b); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		a.t.Fatal(err)
	}
	return &b
}

// listed are the snapshots in the bucket, each of which must be complete.
func (a *afterlife) listed() []catalog.Entry {
	a.t.Helper()
	listing, err := catalog.List(a.t.Context(), a.store, "")
	if err != nil {
		a.t.Fatal(err)
	}
	for _, entry := range listing.Snapshots {
		body, err := a.store.Get(a.t.Context(), entry.Key)
		if err != nil {
			a.t.Fatal(err)
		}
		content, err := io.ReadAll(body)
		body.Close()
		if err != nil || !bytes.Equal(content, a.db) {
			a.t.Errorf("%s is listed as a snapshot and has %d bytes of %d: %v", entry.Key, len(content), len(a.db), err)
		}
	}
	return listing.Snapshots
}

func (a *afterlife) objects() (keys []string) {
	a.t.Helper()
	for o, err := range a.store.List(a.t.Context(), "") {
		if err != nil {
			a.t.Fatal(err)
		}
		keys = append(keys, o.Key)
	}
	return keys
}

// taken waits for a snapshot that is not older than at.
func (a *afterlife) taken(at time.Time) func() bool {
	return func() bool {
		s := a.backup().Status
		return s.Succeeded && s.Snapshot.CreatedAt >= state.Stamp(at)
	}
}

// age makes all objects in the bucket older than leftovers must be.
func (a *afterlife) age() {
	a.t.Helper()
	old := a.clock.now().Add(-2 * attempt.LeftoverAge)
	err := filepath.WalkDir(a.dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, old, old))
	})
	if err != nil {
		a.t.Fatal(err)
	}
}

// everyDeath runs a scenario and ends the operator at each of its calls, in each way or only in the given ways.
func everyDeath(t *testing.T, scenario func(*testing.T, *life), ways ...string) {
	whole := &life{}
	scenario(t, whole)
	if whole.calls < 5 {
		t.Fatalf("only %d calls", whole.calls)
	}
	if len(ways) == 0 {
		ways = []string{diesBefore, diesDuring, diesAfter}
	}
	for _, when := range ways {
		for at := 1; at <= whole.calls; at++ {
			t.Run(fmt.Sprintf("%s call %d of %d", when, at, whole.calls), func(t *testing.T) {
				scenario(t, &life{at: at, when: when})
			})
		}
	}
}

func TestAKilledOperatorLeavesNoHalfSnapshotAndNoLeak(t *testing.T) {
	db := attempttest.Steady(dbfiletest.New(t, attempttest.MemberOfDatabase).Put(10, 200).Snapshot())
	everyDeath(t, func(t *testing.T, l *life) {
		a := newAfterlife(t, db, statetest.Keep(1), statetest.Deletes, statetest.Verifies)
		a.live(&life{}, a.taken(a.clock.now().Add(-time.Hour)))
		a.clock.set(a.clock.now().Add(time.Hour))
		second := a.clock.now()
		a.live(l, a.taken(second))
		if got := len(a.listed()); got < 1 {
			t.Errorf("%d snapshots are left", got)
		}
		a.live(&life{}, a.taken(second))
		a.listed()
		a.clock.set(a.clock.now().Add(time.Hour))
		a.age()
		a.live(&life{}, a.taken(a.clock.now()))
		if got := a.objects(); len(a.listed()) != 1 || len(got) != 3 {
			t.Errorf("the next run leaves %q", got)
		}
	})
}

func TestAnOperatorKilledDuringTheDeletionDeletesAllSnapshotsLater(t *testing.T) {
	db := attempttest.Steady(dbfiletest.New(t, attempttest.MemberOfDatabase).Put(10, 200).Snapshot())
	everyDeath(t, func(t *testing.T, l *life) {
		a := newAfterlife(t, db, statetest.Keep(1), statetest.Deletes, statetest.Verifies)
		a.live(&life{}, a.taken(a.clock.now().Add(-time.Hour)))
		if err := a.api.Delete(t.Context(), a.backup()); err != nil {
			t.Fatal(err)
		}
		gone := func() bool { return a.backup() == nil }
		a.live(l, gone)
		a.listed()
		a.live(&life{}, gone)
		if got := a.objects(); len(got) > 0 {
			t.Errorf("left %s", strings.Join(got, ", "))
		}
	})
}

func TestAnOperatorKilledDuringTheFinalSnapshotTakesItOnceAndReleasesTheBackup(t *testing.T) {
	db := attempttest.Steady(dbfiletest.New(t, attempttest.MemberOfDatabase).Put(10, 200).Snapshot())
	everyDeath(t, func(t *testing.T, l *life) {
		a := newAfterlife(t, db, func(s *state.State) { s.Spec.FinalSnapshot = true })
		a.live(&life{}, a.taken(a.clock.now().Add(-time.Hour)))
		if err := a.api.Delete(t.Context(), a.backup()); err != nil {
			t.Fatal(err)
		}
		deleted := a.backup().DeletionTimestamp.Time
		a.clock.set(deleted)
		gone := func() bool { return a.backup() == nil }
		a.live(l, gone)
		if gone() && len(a.finals(deleted)) != 1 {
			t.Errorf("the killed operator has released the EtcdBackup with %d final snapshots", len(a.finals(deleted)))
		}
		if !gone() {
			a.live(&life{}, gone)
		}
		if finals, all := a.finals(deleted), a.listed(); len(finals) != 1 || len(all) != 2 {
			t.Errorf("%d of %d snapshots are final", len(finals), len(all))
		}
		if held := a.clock.now().Sub(deleted); held >= plan.FinalLimit {
			t.Errorf("the EtcdBackup was held for %s", held)
		}
	})
}

func TestAnOperatorKilledDuringTheDeletionWaitsForYoungObjectsWithoutAManifest(t *testing.T) {
	db := attempttest.Steady(dbfiletest.New(t, attempttest.MemberOfDatabase).Put(10, 200).Snapshot())
	everyDeath(t, func(t *testing.T, l *life) {
		a := newAfterlife(t, db, statetest.Keep(1), statetest.Deletes, statetest.Verifies)
		a.live(&life{}, a.taken(a.clock.now().Add(-time.Hour)))
		parsed, _ := snapshot.ParseKey(a.listed()[0].Key)
		(&attempttest.World{T: t, Store: a.store}).Leaves(parsed.Key(parsed.Time.Add(time.Second), 12), "u")
		if err := a.store.Put(t.Context(), "dir/snap.db/ns/b/0000000000000001/notes.txt", strings.NewReader("mine")); err != nil {
			t.Fatal(err)
		}
		if err := a.api.Delete(t.Context(), a.backup()); err != nil {
			t.Fatal(err)
		}
		began := a.clock.now()
		gone := func() bool { return a.backup() == nil }
		a.live(l, gone)
		if !gone() {
			a.live(&life{}, gone)
		}
		held := a.clock.now().Sub(began)
		if got := strings.Join(a.objects(), ", "); got != "dir/snap.db/ns/b/0000000000000001/notes.txt" || held < attempt.OrphanAge || held > plan.PurgeLimit+plan.LastDelay {
			t.Errorf("left %s after %s", got, held)
		}
	}, diesAfter)
}

// finals are the snapshots that the deletion at that time has asked for.
func (a *afterlife) finals(deleted time.Time) (found []catalog.Entry) {
	a.t.Helper()
	mark := state.JobSpec{UID: "u", Request: plan.FinalRequest(deleted)}.AttemptOf(11)
	for _, entry := range a.listed() {
		if _, request, _ := strings.Cut(entry.Manifest.Attempt, "/now/"); request != "" && strings.HasSuffix(mark, request) {
			found = append(found, entry)
		}
	}
	return found
}
