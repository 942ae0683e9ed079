package cluster

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/failure"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// denied is the answer of the API server if a webhook refuses a call and names no code.
var denied = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusBadRequest, Message: `admission webhook "pods.example.com" denied the request: stopped Pods are kept`,
}}

// refusesDeletions counts the deletions of Pods that a webhook refuses.
func refusesDeletions(r *Reconciler, n *int) {
	r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			if _, is := object.(*corev1.Pod); !is {
				return c.Delete(ctx, object, options...)
			}
			*n++
			return denied
		},
	})
}

// A webhook forbids the deletion of Pods that have stopped. No other rule ran after that.
func TestAStoppedPodThatMayNotBeDeletedStopsNoOtherRepair(t *testing.T) {
	ended := func(s *state.State, m state.Member) {
		m.Pod, m.Answers, m.Serving, m.PodReady, m.Volume = state.PodEnded, false, false, false, state.VolumePresent
		s.Members[1] = m
	}
	aside := func(s *state.State, incarnation int32) {
		s.Members = append(s.Members, s.Members[1])
		s.Members[3].Name = plantest.NameOf(3)
		ended(s, state.Member{Name: plantest.NameOf(1), Incarnation: incarnation})
	}
	deleted := metav1.Now()
	relabels := steps.RelabelPod{Name: plantest.NameOf(2)}
	for name, test := range map[string]struct {
		change  func(*state.State)
		deleted *metav1.Time
		want    steps.Step
	}{
		"the Pod of a member has ended": {change: func(s *state.State) { ended(s, s.Members[1]) }, want: relabels},
		"the Pod of a member has stopped, and its object is still there": {change: func(s *state.State) {
			ended(s, s.Members[1])
			s.Members[1].Pod, s.Members[1].Stopped = state.PodDeleting, true
		}, deleted: &deleted, want: relabels},
		"the Pod of a failed seed has ended": {change: func(s *state.State) { aside(s, 2) }, want: relabels},
		"the Pod of a removed member has ended": {change: func(s *state.State) {
			aside(s, 1)
			s.Members[2].Relabel = false
			s.Members = append(s.Members, state.Member{Name: plantest.NameOf(4), Incarnation: 1, Volume: state.VolumePresent})
		}, want: steps.DeleteVolume{Name: plantest.NameOf(4), Reason: v1beta2.ReasonScaling}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", plantest.NameOf(1), nil), Status: corev1.PodStatus{Phase: corev1.PodFailed}}
			pod.DeletionTimestamp = test.deleted
			pod.Finalizers = []string{"example.com/held"}
			other := &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", plantest.NameOf(2), nil)}
			r, v := beside(t, pod, other)
			attempts := 0
			refusesDeletions(r, &attempts)
			v.Repeats = &plan.Repeats{}
			pass := func(at time.Duration) steps.Step {
				v.State, v.Skipped = clustertest.State(plantest.Formed, plantest.Members(3)), nil
				v.Now = v.Now.Add(at)
				v.Members[2].Relabel = true
				test.change(&v.State)
				v.Held = v.Repeats.Held(1, v.Now)
				step, err := r.planAndAct(t.Context(), v)
				if err != nil {
					t.Fatalf("the pass ended with %v", err)
				}
				return step
			}
			if step := pass(0); step != test.want || attempts != 1 {
				t.Fatalf("after %d attempts to delete the Pod, the operator did %+v", attempts, step)
			}
			for _, next := range []struct {
				at   time.Duration
				want int
			}{{9 * time.Second, 1}, {10 * time.Second, 2}, {29 * time.Second, 2}, {30 * time.Second, 3}, {69 * time.Second, 3}} {
				if pass(next.at); attempts != next.want {
					t.Errorf("%d attempts to delete the Pod within %s, want %d", attempts, next.at, next.want)
				}
				checkRefusedStop(t, v)
			}
		})
	}
}

// checkRefusedStop checks what the status says between two attempts.
func checkRefusedStop(t *testing.T, v *view.View) {
	t.Helper()
	refused := failure.RefusalsOf(v)
	if refused == nil {
		t.Fatal("the status does not name the refusal")
	}
	var status v1beta2.EtcdClusterStatus
	plan.NoteRefused(&status, refused.Error(), failure.ReasonOf(v, refused), 1, v.Now)
	ready := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionReady)
	for _, want := range []string{plantest.NameOf(1), "stopped Pods are kept", "tries again at 2", "Exempt the Pods"} {
		if ready.Status != metav1.ConditionFalse || !strings.Contains(ready.Message, want) {
			t.Errorf("Ready is %s: %q, want %q", ready.Status, ready.Message, want)
		}
	}
	if healthAddresses(v, steps.Done{}) != nil {
		t.Error("the next look at the cluster comes late")
	}
}

// The Pod of another member had ended, and a webhook refused its deletion. The recovery waited for it although that Pod cannot run again,
// and the status showed progress.
func TestAStoppedPodWithoutDataThatMayNotBeDeletedStopsNoRecovery(t *testing.T) {
	for name, test := range map[string]struct {
		volume state.VolumeState
		want   steps.Step
	}{
		"the stopped member has no data": {state.VolumeNone, steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartForce}},
		"the stopped member has data":    {state.VolumePresent, steps.Wait{}},
	} {
		r, v := beside(t, clustertest.Ended(&corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", plantest.NameOf(1), nil)}, false))
		at := metav1.NewTime(plantest.Noon)
		v.Cluster.Spec.Recovery = &v1beta2.RecoveryPolicy{QuorumLoss: v1beta2.QuorumLossForceNewCluster}
		v.Cluster.Status.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: plantest.NameOf(0), ForcedAt: &at}
		status := v.Cluster.Status
		if err := r.Client.Update(t.Context(), v.Cluster); err != nil {
			t.Fatal(err)
		}
		v.Cluster.Status = status
		if err := r.Client.Status().Update(t.Context(), v.Cluster); err != nil {
			t.Fatal(err)
		}
		attempts := 0
		refusesDeletions(r, &attempts)
		v.State = clustertest.State(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(0, plantest.WithoutPod), plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone), clustertest.Consenting, clustertest.Forcing(0))
		v.Members[1].Pod, v.Members[1].Terminated, v.Members[1].Volume, v.Recovery.ForcedAt = state.PodEnded, true, test.volume, &at
		v.UID = "uid-example"
		step, err := r.planAndAct(t.Context(), v)
		if err != nil || attempts != 1 || plan.RefusedStop(v.State) == "" {
			t.Errorf("%s: error %v, %d attempts, the status says %q", name, err, attempts, plan.RefusedStop(v.State))
		}
		if wait, is := step.(steps.Wait); is != (test.volume == state.VolumePresent) || is && (!wait.Stalled || !strings.Contains(wait.Message, plantest.NameOf(1))) || !is && step != test.want {
			t.Errorf("%s: the step is %+v, want %+v", name, step, test.want)
		}
		v.Held = v.Repeats.Held(1, v.Now.Add(time.Second))
		if _, err := r.planAndAct(t.Context(), v); err != nil || attempts != 1 {
			t.Errorf("%s: the next pass: error %v, %d attempts", name, err, attempts)
		}
	}
}
