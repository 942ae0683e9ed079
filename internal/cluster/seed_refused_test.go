package cluster

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/dryrun"
	"github.com/etcd-suite/etcd-operator/internal/cluster/failure"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/operator"
)

// refusedSeed is a restore whose seed the API server refuses.
type refusedSeed struct {
	r       *Reconciler
	s       state.State
	cluster *v1beta2.EtcdCluster
}

func newRefusedSeed(t *testing.T, create func(client.Object) error) *refusedSeed {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	on := &refusedSeed{s: clustertest.State(plantest.Formed, plantest.Members(3), clustertest.Restored(v1beta2.RestoreSeeding), clustertest.FromBucket)}
	on.cluster = &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: on.s.Namespace, Name: on.s.Name, UID: on.s.UID, Generation: 1}}
	on.cluster.Status = v1beta2.EtcdClusterStatus{ClusterID: on.s.ClusterID, Incarnation: on.s.Incarnation, Restore: on.s.Restore.DeepCopy()}
	api := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(on.cluster).WithObjects(on.cluster).Build(), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if err := create(object); err != nil {
				return err
			}
			return c.Create(ctx, object, options...)
		},
	})
	on.r = assemble(parts{Client: api, APIReader: api})
	return on
}

// pass runs one pass some time after the first, as an operator that has just started.
func (on *refusedSeed) pass(t *testing.T, after time.Duration) (steps.Step, *v1beta2.EtcdClusterStatus, error) {
	t.Helper()
	v := &view.View{State: on.s, Cluster: on.cluster, Repeats: &plan.Repeats{}, Waits: &state.Waiting{}}
	v.Now, v.Restore = on.s.Now.Add(after), on.cluster.Status.Restore.DeepCopy()
	step, err := on.r.planAndAct(t.Context(), v)
	step, err = failure.WithoutRefusals(v, step, err)
	on.cluster.Status = plan.NewStatus(v.State, step, err, on.cluster.Status, 1)
	if err := on.r.Client.Status().Update(t.Context(), on.cluster); err != nil {
		t.Fatal(err)
	}
	return step, &on.cluster.Status, err
}

// A quota refused the Pod of a seed. The EtcdRestore waited without end, and only the EtcdCluster had an error.
func TestARestoreWhoseSeedIsRefusedSaysSoAndFailsAfter15Minutes(t *testing.T) {
	for name, test := range map[string]struct {
		refuses error
		volume  bool
		says    string
	}{
		"a quota":                          {refuses: apierrors.NewForbidden(clustertest.PodResource, clustertest.SeedName, clustertest.ErrText("exceeded quota: compute, requested: pods=1, used: pods=3, limited: pods=3")), says: "exceeded quota: compute"},
		"a quota of volumes":               {refuses: apierrors.NewForbidden(clustertest.PodResource, clustertest.SeedName, clustertest.ErrText("exceeded quota: disks")), volume: true, says: "exceeded quota: disks"},
		"an admission webhook":             {refuses: apierrors.NewBadRequest(`admission webhook "policy" denied the request: no`), says: "denied the request"},
		"a webhook that is down":           {refuses: apierrors.NewInternalError(clustertest.ErrText(`failed calling webhook "policy"`)), says: `failed calling webhook "policy"`},
		"an invalid Pod":                   {refuses: apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), clustertest.SeedName, nil), says: "is invalid"},
		"an object of another EtcdCluster": {refuses: view.ErrForeign, says: "does not belong to this EtcdCluster"},
	} {
		t.Run(name, func(t *testing.T) {
			on := newRefusedSeed(t, func(object client.Object) error {
				if _, isVolume := object.(*corev1.PersistentVolumeClaim); isVolume != test.volume {
					return nil
				}
				return test.refuses
			})
			for _, after := range []time.Duration{0, 30 * time.Second, 14 * time.Minute} {
				step, status, err := on.pass(t, after)
				wait, waits := step.(steps.Wait)
				if err != nil || !waits || !wait.Stalled || wait.Reason != v1beta2.ReasonPodRefused || wait.Requeue != dryrun.RehearseAgain {
					t.Fatalf("after %s: %+v, %v", after, step, err)
				}
				if said := status.Restore.Message; !strings.Contains(said, test.says) || !strings.Contains(said, "The members continue to serve.") || !strings.Contains(said, "delete EtcdRestore back") {
					t.Errorf("after %s the restore says %q", after, said)
				}
			}
			step, status, err := on.pass(t, 15*time.Minute)
			if _, fails := step.(steps.FailRestore); !fails || err != nil || status.Restore.Step != v1beta2.RestoreFailed || !strings.Contains(status.Restore.Message, test.says) {
				t.Errorf("after 15m: %+v, %v, and the restore is %+v", step, err, status.Restore)
			}
		})
	}
}

// An error that the next attempt may not meet is retried as any other.
func TestAnAPIServerThatIsBusyRefusesNoSeed(t *testing.T) {
	on := newRefusedSeed(t, func(client.Object) error { return apierrors.NewTooManyRequests("later", 1) })
	if step, status, err := on.pass(t, 0); err == nil || status.Restore.Step != v1beta2.RestoreSeeding {
		t.Errorf("%+v, %v", step, err)
	}
}
