package restore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// bench runs passes for one restore against a fake client.
type bench struct {
	*testing.T
	client   client.Client
	r        *Reconciler
	queue    workqueue.TypedRateLimitingInterface[reconcile.Request]
	events   *events.FakeRecorder
	request  reconcile.Request
	clock    *clocktesting.FakeClock
	reads    atomic.Int32
	registry *prometheus.Registry
}

// measured returns how many time series each metric has.
func (b *bench) measured() map[string]int {
	b.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		b.Fatal(err)
	}
	series := map[string]int{}
	for _, family := range families {
		series[family.GetName()] = len(family.GetMetric())
	}
	return series
}

func newBench(t *testing.T, read Prove, hooks interceptor.Funcs, objects ...client.Object) *bench {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1beta2.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	restore := theRestore()
	b := &bench{T: t, clock: clocktesting.NewFakeClock(now), events: events.NewFakeRecorder(100), request: reconcile.Request{NamespacedName: client.ObjectKeyFromObject(restore)}}
	b.client = fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(hooks).
		WithStatusSubresource(&v1beta2.EtcdRestore{}, &v1beta2.EtcdCluster{}).
		WithIndex(&corev1.Pod{}, metav1.ObjectNameField, func(pod client.Object) []string { return []string{pod.GetName()} }).
		WithObjects(append(objects, restore)...).Build()
	b.registry = prometheus.NewRegistry()
	counted, err := newMetrics(b.registry)
	if err != nil {
		t.Fatal(err)
	}
	b.r = newReconciler(b.client, b.events, counted, b.clock.Now, Options{
		MaxProofs: 1, OwnIdentity: allowing("ns"),
		Prove: func(ctx context.Context, asked Asked) (Found, error) {
			b.reads.Add(1)
			return read(ctx, asked)
		},
	})
	b.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(b.queue.ShutDown)
	if err := b.r.reader.proofs.Source().Start(t.Context(), b.queue); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) pass() reconcile.Result {
	b.Helper()
	result, err := b.r.Reconcile(b.Context(), b.request)
	if err != nil {
		b.Fatalf("pass: %v", err)
	}
	return result
}

// read makes the pass that starts the read of the snapshot, and waits until the end of the read requeues the restore.
func (b *bench) read() {
	b.Helper()
	b.pass()
	request, _ := b.queue.Get()
	b.queue.Done(request)
	if request != b.request {
		b.Fatalf("the end of the reading requeues %v", request)
	}
}

func (b *bench) restore() *v1beta2.EtcdRestore {
	b.Helper()
	var restore v1beta2.EtcdRestore
	if err := b.client.Get(b.Context(), b.request.NamespacedName, &restore); err != nil {
		b.Fatal(err)
	}
	return &restore
}

func (b *bench) wantReady(reason string) *v1beta2.EtcdRestore {
	b.Helper()
	restore := b.restore()
	for _, c := range restore.Status.Conditions {
		if c.Type == v1beta2.ConditionReady && c.Reason == reason {
			return restore
		}
	}
	b.Fatalf("Ready is not %s: %v", reason, restore.Status.Conditions)
	return nil
}

func good(_ context.Context, asked Asked) (Found, error) {
	return Found{Source: asked.Source, Proven: source.Proven{Snapshot: theSnapshot, Format: "3.6.0"}}, nil
}

func awsSecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "aws"}, Data: map[string][]byte{"access-key-id": []byte("k")}}
}

func TestARestoreRunsFromItsFirstToItsLastPass(t *testing.T) {
	cluster := theCluster()
	read := func(ctx context.Context, asked Asked) (Found, error) {
		if asked.Source != theSource || string(asked.Secret["access-key-id"]) != "k" {
			return Found{}, fmt.Errorf("asked for %+v with %d secrets", asked.Source, len(asked.Secret))
		}
		return good(ctx, asked)
	}
	b := newBench(t, read, interceptor.Funcs{}, cluster, awsSecret())
	b.read()
	b.wantReady(v1beta2.ReasonVerifying)
	b.pass()
	restore := b.wantReady(v1beta2.ReasonVerified)
	if *restore.Status.Source != theSource || *restore.Status.Snapshot != theSnapshot {
		t.Errorf("the status has %+v, %+v", restore.Status.Source, restore.Status.Snapshot)
	}
	for _, step := range []v1beta2.RestoreStep{"Seeding", "Switching", "Growing", "Complete"} {
		cluster.Status.Restore = progress(step)
		if err := b.client.Status().Update(t.Context(), cluster); err != nil {
			t.Fatal(err)
		}
		b.pass()
		if restore := b.wantReady(string(step)); restore.Status.Succeeded != (step == "Complete") {
			t.Errorf("at %s succeeded is %v", step, restore.Status.Succeeded)
		}
	}
	b.pass()
	if got := b.measured(); got["etcd_operator_restore_finished_total"] != 1 || got["etcd_operator_restore_under_way"] != 0 {
		t.Errorf("after the end the metrics have %v", got)
	}
	if b.reads.Load() != 1 {
		t.Errorf("the source was read %d times", b.reads.Load())
	}
	if got := len(b.events.Events); got != 6 {
		t.Errorf("%d events, want one for each of six reasons", got)
	}
}

func TestATemporaryFailureIsRetriedAfterItsPause(t *testing.T) {
	down := true
	read := func(ctx context.Context, asked Asked) (Found, error) {
		if down {
			return Found{}, errors.New("connection refused")
		}
		return good(ctx, asked)
	}
	b := newBench(t, read, interceptor.Funcs{}, theCluster(), awsSecret())
	b.read()
	if result := b.pass(); result.RequeueAfter != 5*time.Second {
		t.Errorf("requeues after %s", result.RequeueAfter)
	}
	restore := b.wantReady(v1beta2.ReasonStoreUnreachable)
	if restore.Status.CompletionTime != nil || restore.Status.Attempts != 1 {
		t.Errorf("status %+v", restore.Status)
	}
	down = false
	b.clock.Step(5 * time.Second)
	b.read()
	b.pass()
	if restore := b.wantReady(v1beta2.ReasonVerified); restore.Status.Attempts != 2 {
		t.Errorf("%d attempts", restore.Status.Attempts)
	}
}

func TestEachFailureHasItsReason(t *testing.T) {
	for reason, test := range map[string]struct {
		err   error
		final bool
	}{
		v1beta2.ReasonObjectNotFound:      {fmt.Errorf("get: %w", fs.ErrNotExist), true},
		v1beta2.ReasonAccessDenied:        {fmt.Errorf("get: %w", fs.ErrPermission), false},
		v1beta2.ReasonBucketNotFound:      {fmt.Errorf("get: %w", objstore.ErrNoBucket), false},
		v1beta2.ReasonSecretMissing:       {fmt.Errorf("read: %w", codec.ErrIdentity), false},
		v1beta2.ReasonSnapshotAmbiguous:   {fmt.Errorf("choose: %w", source.ErrAmbiguous), true},
		v1beta2.ReasonSnapshotCorrupt:     {fmt.Errorf("read: %w", dbfile.ErrCorrupt), true},
		v1beta2.ReasonPointNotRecoverable: {fmt.Errorf("find: %w", &archive.Refusal{Target: archive.Target{Revision: 9}}), true},
		v1beta2.ReasonArchiveCorrupt:      {fmt.Errorf("replay: %w: revision 9", replay.ErrRefused), true},
		v1beta2.ReasonReplayTooLarge:      {fmt.Errorf("replay: %w", dbfile.ErrMemory), false},
		v1beta2.ReasonSnapshotTooNew:      {fmt.Errorf("read: %w", archive.ErrNewerFormat), true},
		v1beta2.ReasonStoreUnreachable:    {errors.New("no route to host"), false},
		v1beta2.ReasonRetrying:            {fmt.Errorf("%w: %w", source.ErrDisk, fs.ErrNotExist), false},
	} {
		t.Run(reason, func(t *testing.T) {
			b := newBench(t, func(context.Context, Asked) (Found, error) {
				return Found{}, test.err
			}, interceptor.Funcs{}, theCluster(), awsSecret())
			b.read()
			b.pass()
			restore := b.wantReady(reason)
			if ofArchive(test.err) && !strings.Contains(restore.Status.Reason, "cluster was not changed") {
				t.Errorf("the message does not say that nothing was changed: %s", restore.Status.Reason)
			}
			if (restore.Status.CompletionTime != nil) != test.final {
				t.Errorf("completionTime %v", restore.Status.CompletionTime)
			}
		})
	}
	t.Run("retries ArchiveCorrupt if a listed segment was deleted", func(t *testing.T) {
		b := newBench(t, func(context.Context, Asked) (Found, error) {
			return Found{}, &archive.RevisionError{Revision: 9, Key: "k", Err: fs.ErrNotExist}
		}, interceptor.Funcs{}, theCluster(), awsSecret())
		b.read()
		b.pass()
		if restore := b.wantReady(v1beta2.ReasonArchiveCorrupt); restore.Status.CompletionTime != nil {
			t.Error("the restore has ended")
		}
	})
	t.Run("AccessDenied names the folder that must be writable", func(t *testing.T) {
		b := newBench(t, func(context.Context, Asked) (Found, error) {
			return Found{}, fmt.Errorf("%w: %w", errPointTarget, fs.ErrPermission)
		}, interceptor.Funcs{}, theCluster(), awsSecret())
		b.read()
		b.pass()
		if restore := b.wantReady(v1beta2.ReasonAccessDenied); !strings.Contains(restore.Status.Reason, "create objects below backups/etcd/safety-snapshots") {
			t.Errorf("the reason is %s", restore.Status.Reason)
		}
	})
	t.Run("SecretMissing is reported without a request to the store", func(t *testing.T) {
		b := newBench(t, good, interceptor.Funcs{}, theCluster())
		b.read()
		b.pass()
		b.wantReady(v1beta2.ReasonSecretMissing)
		if b.reads.Load() != 0 {
			t.Error("the store was asked")
		}
	})
}

// Defect 6 of coreos/etcd-operator: one bad CR ended the operator for everyone.
func TestAPanicWhileReadingFailsThatRestoreOnly(t *testing.T) {
	b := newBench(t, func(context.Context, Asked) (Found, error) {
		return Found{ChosenBecause: os.Args[len(os.Args)]}, nil
	}, interceptor.Funcs{}, theCluster(), awsSecret())
	b.read()
	if result := b.pass(); result.RequeueAfter != 5*time.Second {
		t.Errorf("requeues after %s", result.RequeueAfter)
	}
	b.wantReady(v1beta2.ReasonRetrying)
}

func TestAResultIsKeptUntilTheStatusIsWritten(t *testing.T) {
	conflicts := 0
	hooks := interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
		if conflicts > 0 {
			conflicts--
			return apierrors.NewConflict(schema.GroupResource{Resource: "etcdrestores"}, object.GetName(), errors.New("changed meanwhile"))
		}
		return c.SubResource(sub).Patch(ctx, object, patch, opts...)
	}}
	b := newBench(t, good, hooks, theCluster(), awsSecret())
	b.read()
	conflicts = 2
	for range 2 {
		if result := b.pass(); result.RequeueAfter == 0 {
			t.Error("a conflict does not lead to another pass")
		}
	}
	b.wantReady(v1beta2.ReasonVerifying)
	b.pass()
	b.wantReady(v1beta2.ReasonVerified)
	if b.reads.Load() != 1 {
		t.Errorf("the source was read %d times", b.reads.Load())
	}
}

func TestAReadingEndsWhenItsRestoreIsDeleted(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan error, 1)
	b := newBench(t, func(ctx context.Context, _ Asked) (Found, error) {
		close(begun)
		<-ctx.Done()
		ended <- ctx.Err()
		return Found{}, ctx.Err()
	}, interceptor.Funcs{}, theCluster(), awsSecret())
	b.pass()
	<-begun
	if err := b.client.Delete(t.Context(), b.restore()); err != nil {
		t.Fatal(err)
	}
	b.pass()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the reading goes on")
	}
}

func TestAClusterRequeuesItsUnfinishedRestoresOnly(t *testing.T) {
	more := func(name, cluster, backup string, finished bool) *v1beta2.EtcdRestore {
		r := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		r.Spec.EtcdCluster.Name = cluster
		if backup != "" {
			r.Spec.EtcdBackup = &v1beta2.BackupReference{Name: backup}
		}
		if finished {
			r.Status.CompletionTime = &metav1.Time{Time: now}
		}
		return r
	}
	b := newBench(t, good, interceptor.Funcs{}, more("other", "elsewhere", "nightly", false), more("ended", "example", "nightly", true))
	cluster := b.r.concerned(intoCluster)(t.Context(), theCluster())
	if len(cluster) != 1 || cluster[0].Name != "back" {
		t.Errorf("the cluster concerns %v", cluster)
	}
	backup := b.r.concerned(fromBackup)(t.Context(), &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "nightly"}})
	if len(backup) != 1 || backup[0].Name != "other" {
		t.Errorf("the backup concerns %v", backup)
	}
}

func TestAFinishedRestoreIsDeletedAfterItsTimeToLive(t *testing.T) {
	cluster := theCluster()
	cluster.Status.ClusterID = "00000000000000aa"
	b := newBench(t, func(context.Context, Asked) (Found, error) { return Found{}, fs.ErrNotExist }, interceptor.Funcs{}, cluster, awsSecret())
	restore, ttl := b.restore(), int32(60)
	restore.Spec.TTLSecondsAfterFinished, restore.Spec.DryRun = &ttl, true
	if err := b.client.Update(t.Context(), restore); err != nil {
		t.Fatal(err)
	}
	b.read()
	b.pass()
	b.wantReady(v1beta2.ReasonObjectNotFound)
	if result := b.pass(); result.RequeueAfter != time.Minute {
		t.Errorf("requeues after %s", result.RequeueAfter)
	}
	b.clock.Step(time.Minute)
	b.pass()
	if err := b.client.Get(t.Context(), b.request.NamespacedName, restore); !apierrors.IsNotFound(err) {
		t.Errorf("it still exists: %v", err)
	}
}

func TestTheStatusShowsTheProgressOfAReading(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	b := newBench(t, func(ctx context.Context, asked Asked) (Found, error) {
		asked.Progress(48, 100)
		close(begun)
		<-end
		return good(ctx, asked)
	}, interceptor.Funcs{}, theCluster(), awsSecret())
	if result := b.pass(); result.RequeueAfter == 0 {
		t.Error("the progress is never read")
	}
	<-begun
	b.pass()
	if restore := b.wantReady(v1beta2.ReasonVerifying); restore.Status.Percent != 45 {
		t.Errorf("%d %%", restore.Status.Percent)
	}
	close(end)
}

// If the operator is killed after the save and before it writes the status, it saves again under the same key and mark.
func TestTheSafetySnapshotHasTheSameKeyAfterTheOperatorWasKilled(t *testing.T) {
	cluster := theCluster()
	orders := make(chan state.SafetyOrder, 2)
	killed := false
	hooks := interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
		if killed {
			return errors.New("killed")
		}
		return c.SubResource(sub).Patch(ctx, o, patch, options...)
	}}
	b := newBench(t, good, hooks, cluster, awsSecret())
	b.r.saver.save = func(_ context.Context, o state.SafetyOrder, _ SafetySecrets) (string, snapshot.Manifest, error) {
		orders <- o
		return "b/k", snapshot.Manifest{Revision: 42}, nil
	}
	if err := b.r.saver.safeties.Source().Start(t.Context(), b.queue); err != nil {
		t.Fatal(err)
	}
	b.read()
	b.pass()
	cluster.Status.Restore = progress("Seeding")
	cluster.Status.Restore.SeedReadyTime = &metav1.Time{Time: now.Add(-time.Minute)}
	if err := b.client.Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	b.read()
	killed = true
	if _, err := b.r.Reconcile(t.Context(), b.request); err == nil {
		t.Fatal("the status was written")
	}
	first := <-orders
	killed, b.r.saver.safeties = false, worker.New[state.Safety](1)
	if err := b.r.saver.safeties.Source().Start(t.Context(), b.queue); err != nil {
		t.Fatal(err)
	}
	b.read()
	b.pass()
	if saved := b.restore().Status.SafetySnapshot; saved == nil || saved.Path != "b/k" || saved.Revision != 42 {
		t.Errorf("%+v", saved)
	}
	if second := <-orders; first.Mark != second.Mark || !first.Time.Equal(second.Time) || first.Target.Path() != second.Target.Path() {
		t.Errorf("%+v, then %+v", first, second)
	}
}

// Both operators were down for three hours after the snapshot was taken, and the members served. Without this, the status
// promises that the snapshot has the writes of these hours.
func TestTheStatusHasTheTimeAtWhichTheSafetySnapshotWasTaken(t *testing.T) {
	cluster := theCluster()
	b := newBench(t, good, interceptor.Funcs{}, cluster, awsSecret())
	asked := make(chan state.SafetyOrder, 2)
	b.r.saver.save = func(_ context.Context, o state.SafetyOrder, _ SafetySecrets) (string, snapshot.Manifest, error) {
		asked <- o
		return "b/k", snapshot.Manifest{Revision: 42, CreatedAt: o.Time}, nil
	}
	if err := b.r.saver.safeties.Source().Start(t.Context(), b.queue); err != nil {
		t.Fatal(err)
	}
	b.read()
	b.pass()
	for _, ready := range []time.Time{now.Add(-3 * time.Hour), now} { // cluster-operator asks for another one
		cluster.Status.Restore = progress("Seeding")
		cluster.Status.Restore.SeedReadyTime = &metav1.Time{Time: ready}
		if err := b.client.Status().Update(t.Context(), cluster); err != nil {
			t.Fatal(err)
		}
		b.read()
		b.pass()
		if saved := b.restore().Status.SafetySnapshot; saved == nil || !saved.Time.Time.Equal(ready) {
			t.Errorf("the snapshot of %s is reported as %+v", ready, saved)
		}
		if o := <-asked; !o.Time.Equal(ready) {
			t.Errorf("it is taken under the key of %s, want %s", o.Time, ready)
		}
		b.pass()
	}
	if len(asked) > 0 {
		t.Error("it is taken again without end")
	}
}

// occupy starts reads for EtcdRestores of one namespace that never end, as from a store that sends a byte now and then.
func (b *bench) occupy(namespace string, names ...string) {
	b.Helper()
	if err := b.r.reader.proofs.Source().Start(b.Context(), b.queue); err != nil {
		b.Fatal(err)
	}
	for _, name := range names {
		key := worker.Key{Object: types.NamespacedName{Namespace: namespace, Name: name}, UID: types.UID(name)}
		b.r.reader.proofs.Start(key, func(ctx context.Context) (state.Proof, error) { <-ctx.Done(); return state.Proof{}, ctx.Err() })
		b.Cleanup(func() { b.r.reader.proofs.Forget(key) })
	}
}

// Without this limit, a tenant with two slow stores delays the restores of all other tenants without end.
func TestOneNamespaceDoesNotBlockTheRestoresOfAllOthers(t *testing.T) {
	b := newBench(t, good, interceptor.Funcs{}, theCluster(), awsSecret())
	b.r.reader.proofs = worker.New[state.Proof](2)
	b.occupy("tenant", "one", "two")
	b.read()
	b.pass()
	if c := meta.FindStatusCondition(b.restore().Status.Conditions, v1beta2.ConditionVerified); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("the restore of another namespace is not verified: %+v", c)
	}
}

// A restore of a plain snapshot by its path wrote the whole present data of a cluster in plain, although its EtcdBackups encrypt.
func TestTheRecipientsOfEachEtcdBackupOfTheClusterAreKnown(t *testing.T) {
	of := func(name, cluster string, recipients ...string) *v1beta2.EtcdBackup {
		b := &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: v1beta2.EtcdBackupSpec{EtcdCluster: &v1beta2.ClusterReference{Name: cluster}}}
		if len(recipients) > 0 {
			b.Spec.Encryption = &v1beta2.Encryption{Age: v1beta2.AgeEncryption{Recipients: recipients}}
		}
		return b
	}
	b := newBench(t, good, interceptor.Funcs{}, theCluster(), awsSecret(), of("a", "example", "age1y", "age1x"), of("b", "example", "age1x"), of("c", "another", "age1z"), of("d", "example"))
	state, err := b.r.observe(t.Context(), b.request.NamespacedName)
	if err != nil || !slices.Equal(state.Recipients, []string{"age1x", "age1y"}) {
		t.Errorf("the recipients are %v (%v)", state.Recipients, err)
	}
}

// Without this, the status of a restore that has to wait reports that the operator is reading its snapshot.
func TestARestoreThatWaitsForOthersIsShownAsQueued(t *testing.T) {
	b := newBench(t, good, interceptor.Funcs{}, theCluster(), awsSecret())
	b.r.reader.proofs = worker.New[state.Proof](1)
	b.occupy("tenant", "one")
	b.pass()
	b.pass()
	c := meta.FindStatusCondition(b.restore().Status.Conditions, v1beta2.ConditionReady)
	if c == nil || c.Reason != v1beta2.ReasonQueued || !strings.Contains(c.Message, "not read yet") {
		t.Errorf("%+v", c)
	}
}

// The end of an archive moves every few seconds while clients write. Thousands of waiting EtcdRestores of one namespace kept restore-operator busy with
// that.
func TestTheEndOfAnArchiveWakesEtcdRestoresOnceAMinute(t *testing.T) {
	at := time.Date(2026, 11, 30, 9, 0, 2, 0, time.UTC)
	backup := func(revision int64, after time.Duration, message string) *v1beta2.EtcdBackup {
		b := &v1beta2.EtcdBackup{}
		b.Status.Recoverable = []v1beta2.RecoverableRange{{To: v1beta2.RecoverablePoint{Revision: revision, Time: metav1.NewTime(at.Add(after))}}}
		b.Status.Conditions = []metav1.Condition{{Type: v1beta2.ConditionArchiving, Status: metav1.ConditionTrue, Message: message}}
		return b
	}
	stopped := backup(7, 0, "a")
	stopped.Status.Conditions[0].Status = metav1.ConditionFalse
	shorter := backup(7, 0, "a")
	shorter.Status.Recoverable[0].From.Revision = 5
	for name, test := range map[string]struct {
		after *v1beta2.EtcdBackup
		want  bool
	}{
		"some seconds later":       {backup(9, 5*time.Second, "b"), false},
		"a minute later":           {backup(99, time.Minute, "b"), true},
		"the archive stops":        {stopped, true},
		"older parts were deleted": {shorter, true},
		"nothing but its version":  {backup(7, 0, "a"), false},
	} {
		if got := concerns(event.UpdateEvent{ObjectOld: backup(7, 0, "a"), ObjectNew: test.after}); got != test.want {
			t.Errorf("%s: it wakes EtcdRestores: %t", name, got)
		}
	}
}
