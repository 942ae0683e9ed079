package cluster

import (
	"context"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A policy forbids the deletion of PersistentVolumeClaims, and a failed restore has left one. Later the nodes of all members restart. The
// members have all their data, and none of them is started.
func TestAVolumeOfAFailedSeedKeepsNoClusterDown(t *testing.T) {
	policy := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: `admission webhook "volumes.example.com" denied the request: volumes are kept`,
	}}
	seed := state.Member{Name: plantest.NameOf(3), Incarnation: 2, Volume: state.VolumePresent}
	for name, leftover := range map[string]bool{"without the leftover volume": false, "with the leftover volume": true} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{&corev1.PersistentVolumeClaim{ObjectMeta: clustertest.Controlled("uid-example", seed.Name, nil)}}
			for i := range 3 {
				objects = append(objects, &corev1.PersistentVolumeClaim{ObjectMeta: clustertest.Controlled("uid-example", plantest.NameOf(i), nil)})
			}
			r, v := beside(t, objects...)
			r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
				Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
					if _, is := o.(*corev1.PersistentVolumeClaim); is {
						return policy
					}
					return c.Delete(ctx, o, options...)
				},
			})
			v.State, v.Skipped, v.Obstructed = clustertest.State(plantest.Formed, plantest.Members(3), plantest.NoQuorum), nil, nil
			v.Restore = &v1beta2.ClusterRestoreStatus{Name: "back", UID: "uid-restore", Step: v1beta2.RestoreFailed, Incarnation: 2}
			for i := range v.Members {
				m := &v.Members[i]
				m.Pod, m.PodImage, m.Answers, m.Version = state.PodNone, "", false, ""
			}
			if leftover {
				v.Members = append(v.Members, seed)
			}
			step, _ := r.planAndAct(t.Context(), v)
			if create, is := step.(steps.CreateMember); !is || create.Start != state.StartRejoin {
				t.Errorf("the operator did %T, want a member started with its data", step)
			}
		})
	}
}
