package backup

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubeevents "k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// rig is a Reconciler on a fake API, whose attempts end as the test says.
type rig struct {
	*Reconciler
	t        *testing.T
	events   *kubeevents.FakeRecorder
	registry *prometheus.Registry
	// attempts begun, and how each ends.
	begun int
	ends  func(context.Context) state.Result
	// patchErr is what the next write of a status fails with.
	patchErr error
	writes   int
}

var request = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "b"}}

func newRig(t *testing.T, objects ...client.Object) *rig {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, events: kubeevents.NewFakeRecorder(100), registry: prometheus.NewRegistry()}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1beta2.EtcdBackup{}).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: r.patch}).Build()
	cached := interceptor.NewClient(api, interceptor.Funcs{Get: behind})
	m, err := newMetrics(r.registry)
	if err != nil {
		t.Fatal(err)
	}
	r.ends = func(context.Context) state.Result {
		return state.Result{EndedAt: time.Now(), Snapshot: statetest.SnapshotAt("bucket/dir/snap.db", time.Now())}
	}
	r.Reconciler = &Reconciler{
		client: cached, live: api, events: r.events, attempts: queue.NewAttempts(nil), copies: queue.NewAttempts(nil), archives: archiving.New(nil, nil), metrics: m, now: time.Now, identity: grant.Everything(),
		attempt: func(ctx context.Context, _ state.JobSpec, _ *queue.Progress) state.Result {
			r.begun++
			return r.ends(ctx)
		},
	}
	return r
}

// behind is a cache that has not seen any status yet.
func behind(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := c.Get(ctx, key, object, options...)
	if b, ok := object.(*v1beta2.EtcdBackup); ok {
		b.Status = v1beta2.EtcdBackupStatus{}
	}
	return err
}

func (r *rig) patch(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	if err := r.patchErr; err != nil {
		r.patchErr = nil
		return err
	}
	r.writes++
	return c.SubResource(sub).Patch(ctx, object, patch, options...)
}

// pass runs one pass, and waits for the attempt that it starts.
func (r *rig) pass() reconcile.Result {
	r.t.Helper()
	result, err := r.Reconcile(r.t.Context(), request)
	if err != nil {
		r.t.Errorf("pass: %v", err)
	}
	synctest.Wait()
	return result
}

func (r *rig) backup() *v1beta2.EtcdBackup {
	r.t.Helper()
	var b v1beta2.EtcdBackup
	if err := r.live.Get(r.t.Context(), request.NamespacedName, &b); err != nil {
		r.t.Fatal(err)
	}
	return &b
}

// isReady reports whether Ready is true in the API.
func (r *rig) isReady() bool {
	return meta.IsStatusConditionTrue(r.backup().Status.Conditions, v1beta2.ConditionReady)
}

func object(s state.State) *v1beta2.EtcdBackup {
	return &v1beta2.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, UID: s.UID, Generation: s.Generation},
		Spec:       s.Spec, Status: s.Status,
	}
}

func TestReconcile(t *testing.T) {
	statetest.Bubble(t, "a pass starts an attempt, and the next reports it", func(t *testing.T) {
		r := newRig(t, object(statetest.One()))
		r.pass()
		r.pass()
		if !r.isReady() || r.begun != 1 {
			t.Errorf("%d attempts\n%s", r.begun, statetest.Picture(r.backup().Status))
		}
		if e := <-r.events.Events; !strings.Contains(e, "SnapshotTaken") {
			t.Errorf("event %q", e)
		}
	})
	statetest.Bubble(t, "a result is kept and no second attempt starts if the status cannot be written", func(t *testing.T) {
		r := newRig(t, object(statetest.One()))
		r.pass()
		r.patchErr = apierrors.NewConflict(v1beta2.GroupVersion.WithResource("etcdbackups").GroupResource(), "b", errors.New("stale"))
		r.pass()
		if r.isReady() || len(r.events.Events) > 0 {
			t.Fatal("the write did not fail, or its event was told all the same")
		}
		r.pass()
		if !r.isReady() || r.begun != 1 {
			t.Errorf("%d attempts\n%s", r.begun, statetest.Picture(r.backup().Status))
		}
	})
	statetest.Bubble(t, "a settled EtcdBackup causes no write", func(t *testing.T) {
		r := newRig(t, object(statetest.One()))
		r.pass()
		r.pass()
		before := r.writes
		for range 3 {
			if result := r.pass(); result.RequeueAfter != 0 {
				t.Errorf("asked to look again in %s", result.RequeueAfter)
			}
		}
		if r.writes != before {
			t.Errorf("%d writes", r.writes-before)
		}
	})
	// Defect 19: the first failure of a one-shot was final.
	statetest.Bubble(t, "a failed attempt is made again when it is due", func(t *testing.T) {
		r := newRig(t, object(statetest.One()))
		r.ends = func(context.Context) state.Result {
			if r.begun == 1 {
				return state.Result{EndedAt: time.Now(), Failure: &state.Failure{Reason: v1beta2.ReasonAccessDenied, Message: "denied"}}
			}
			return state.Result{EndedAt: time.Now(), Snapshot: statetest.SnapshotAt("bucket/dir/snap.db", time.Now())}
		}
		r.pass()
		r.pass()
		wait := r.pass().RequeueAfter
		if wait <= 0 || wait > plan.FirstDelay {
			t.Fatalf("looks again in %s", wait)
		}
		<-time.After(wait)
		r.pass()
		r.pass()
		if !r.isReady() || r.begun != 2 || r.backup().Status.Attempts != 2 {
			t.Errorf("%d attempts\n%s", r.begun, statetest.Picture(r.backup().Status))
		}
	})
	// Defect 23: a deleted EtcdBackup left a goroutine that ran forever.
	statetest.Bubble(t, "deleting an EtcdBackup ends its attempt", func(t *testing.T) {
		r := newRig(t, object(statetest.One()))
		ended := false
		r.ends = func(ctx context.Context) state.Result {
			<-ctx.Done()
			ended = true
			return state.Result{}
		}
		r.pass()
		if err := r.client.Delete(t.Context(), r.backup()); err != nil {
			t.Fatal(err)
		}
		r.pass()
		if !ended || r.attempts.Find(keyOf(object(statetest.One()))) != nil {
			t.Errorf("the attempt ended: %v", ended)
		}
	})
	statetest.Bubble(t, "an attempt of a deleted EtcdBackup does not count for a new one of that name", func(t *testing.T) {
		r := newRig(t, object(statetest.One()))
		ended := false
		r.ends = func(ctx context.Context) state.Result {
			<-ctx.Done()
			ended = true
			return state.Result{}
		}
		r.pass()
		if err := r.client.Delete(t.Context(), r.backup()); err != nil {
			t.Fatal(err)
		}
		again := object(statetest.One())
		again.UID = "other"
		if err := r.client.Create(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		r.pass()
		if r.begun != 2 || !ended {
			t.Errorf("%d attempts, the first ended: %v", r.begun, ended)
		}
		r.attempts.ForgetOthers(request.NamespacedName, "")
	})
	statetest.Bubble(t, "the finalizer of the archived operator is removed although nothing is deleted", func(t *testing.T) {
		held := object(statetest.Series())
		held.Finalizers = []string{finalizer, "somebody.else/s"}
		r := newRig(t, held)
		r.pass()
		if got := r.backup().Finalizers; len(got) != 1 || got[0] != "somebody.else/s" {
			t.Errorf("finalizers %q", got)
		}
		r.pass()
		if r.begun != 1 {
			t.Errorf("%d attempts", r.begun)
		}
	})
	// Defect 4: a loop continued without a pause after its end.
	statetest.Bubble(t, "a series sleeps until its next snapshot is due", func(t *testing.T) {
		r := newRig(t, object(statetest.Series()))
		r.ends = func(context.Context) state.Result {
			return state.Result{EndedAt: time.Now(), Snapshot: statetest.SnapshotAt("bucket/dir/snap.db/ns/b/1/x.db", time.Now())}
		}
		r.pass()
		r.pass()
		if wait := r.pass().RequeueAfter; wait < 59*time.Minute || wait > time.Hour {
			t.Errorf("looks again in %s", wait)
		}
	})
}

// Defect 17: a metric was labelled by the text of errors.
func TestMetrics(t *testing.T) {
	statetest.Bubble(t, "failures are counted by the reason in the status, and go with their object", func(t *testing.T) {
		r := newRig(t, object(statetest.One()))
		r.ends = func(context.Context) state.Result {
			return state.Result{EndedAt: time.Now(), Failure: &state.Failure{Reason: v1beta2.ReasonAccessDenied, Message: "request 4711 was denied"}}
		}
		r.pass()
		r.pass()
		if got := r.labels("etcd_operator_backup_failures_total"); got != "name=b namespace=ns reason=AccessDenied" {
			t.Errorf("labels %q", got)
		}
		if err := r.client.Delete(t.Context(), r.backup()); err != nil {
			t.Fatal(err)
		}
		r.pass()
		if got := r.labels("etcd_operator_backup_failures_total"); got != "" {
			t.Errorf("labels %q after the object is gone", got)
		}
	})
	statetest.Bubble(t, "a series that never had a snapshot has the metrics for an alert", func(t *testing.T) {
		r := newRig(t, object(statetest.Series()))
		r.ends = func(context.Context) state.Result {
			return state.Result{EndedAt: time.Now(), Failure: &state.Failure{Reason: v1beta2.ReasonAccessDenied, Message: "denied"}}
		}
		r.pass()
		r.pass()
		for name, want := range map[string]float64{
			"etcd_operator_backup_has_snapshot": 0, "etcd_operator_backup_suspended": 0,
			"etcd_operator_backup_overdue_timestamp_seconds": float64(r.backup().CreationTimestamp.Add(2 * time.Hour).Unix()),
		} {
			if got := r.value(name); got != want {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
		if r.labels("etcd_operator_backup_newest_snapshot_timestamp_seconds") != "" || r.labels("etcd_operator_backup_created_timestamp_seconds") != "name=b namespace=ns" {
			t.Error("there is no metric to compare with")
		}
	})
	statetest.Bubble(t, "no metric of a deleted EtcdBackup is left", func(t *testing.T) {
		r := newRig(t, object(statetest.Series(statetest.Proven(time.Minute))))
		r.now = statetest.At(statetest.T0)
		r.pass()
		if r.value("etcd_operator_backup_info") != 1 || r.value("etcd_operator_backup_has_snapshot") != 1 {
			t.Error("the metrics of the EtcdBackup are missing")
		}
		if err := r.client.Delete(t.Context(), r.backup()); err != nil {
			t.Fatal(err)
		}
		r.pass()
		families, err := r.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				for _, label := range metric.GetLabel() {
					if label.GetName() == "name" {
						t.Errorf("%s has a series of the deleted EtcdBackup", family.GetName())
					}
				}
			}
		}
	})
	statetest.Bubble(t, "a suspended series is never overdue", func(t *testing.T) {
		r := newRig(t, object(statetest.Series(statetest.Proven(time.Minute), func(s *state.State) { s.Spec.BackupPolicy.Suspend = true })))
		r.now = statetest.At(statetest.T0)
		r.pass()
		if r.value("etcd_operator_backup_suspended") != 1 || r.value("etcd_operator_backup_overdue_timestamp_seconds") != -1 {
			t.Error("an alert would fire for a suspended series")
		}
	})
	statetest.Bubble(t, "the metric of the newest snapshot exists again after a restart", func(t *testing.T) {
		r := newRig(t, object(statetest.Series(statetest.Proven(time.Minute))))
		r.now = statetest.At(statetest.T0)
		r.pass()
		if got := r.labels("etcd_operator_backup_newest_snapshot_timestamp_seconds"); got != "name=b namespace=ns" {
			t.Errorf("labels %q", got)
		}
	})
}

// value of the first series of a gauge, -1 if there is none.
func (r *rig) value(name string) float64 {
	r.t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return -1
}

// labels of the first series of a metric, empty if there is none.
func (r *rig) labels(name string) string {
	r.t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		var out []string
		for _, label := range family.GetMetric()[0].GetLabel() {
			out = append(out, label.GetName()+"="+label.GetValue())
		}
		return strings.Join(out, " ")
	}
	return ""
}

func TestWatches(t *testing.T) {
	cluster := func(change func(*v1beta2.EtcdClusterStatus)) *v1beta2.EtcdCluster {
		c := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "etcd"}}
		c.Status.MemberStatuses = []v1beta2.MemberStatus{{Name: "m0", ClientURL: "http://m0:2379", DBSize: 1}}
		change(&c.Status)
		return c
	}
	same := cluster(func(*v1beta2.EtcdClusterStatus) {})
	t.Run("a cluster starts a pass only for EtcdBackups that name it", func(t *testing.T) {
		named, other := object(statetest.One(statetest.Of(nil))), object(statetest.One())
		other.Name = "other"
		r := newRig(t, named, other)
		if got := r.backupsOf(t.Context(), same); len(got) != 1 || got[0] != request {
			t.Errorf("%v", got)
		}
	})
	for name, test := range map[string]struct {
		after *v1beta2.EtcdCluster
		want  bool
	}{
		"a cluster that becomes available starts a pass": {cluster(func(s *v1beta2.EtcdClusterStatus) {
			s.Conditions = []metav1.Condition{{Type: v1beta2.ConditionAvailable, Status: metav1.ConditionTrue}}
		}), true},
		"an added member starts a pass": {cluster(func(s *v1beta2.EtcdClusterStatus) {
			s.MemberStatuses = append(s.MemberStatuses, v1beta2.MemberStatus{Name: "m1", ClientURL: "http://m1:2379"})
		}), true},
		"a larger database starts no pass": {cluster(func(s *v1beta2.EtcdClusterStatus) { s.MemberStatuses[0].DBSize = 2 }), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := clusterChanged().Update(event.UpdateEvent{ObjectOld: same, ObjectNew: test.after}); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
