package dryrun

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// aheadOfNeed is a rehearsal of the Pod of a healthy cluster.
type aheadOfNeed struct {
	*clustertest.Rehearsal
	r *Rehearsals
}

// ahead is a healthy cluster of one member whose Pod is tried before it is needed.
func ahead(t *testing.T, answer func(client.Object) error) *aheadOfNeed {
	t.Helper()
	tried := clustertest.NewRehearsal(t, answer)
	on := &aheadOfNeed{Rehearsal: tried, r: &Rehearsals{Lists: &kubecache.Lists{KubeAPI: tried.API}, WakeUp: func(metav1.ObjectMeta) {}}}
	on.View.Spec.Size, on.View.Budget.MinAvailable = 1, 0
	on.r.Foresight = NewForesight()
	return on
}

// pass ends a pass that has carried out a step, and returns what the next pass plans.
func (on *aheadOfNeed) pass(t *testing.T, step steps.Step) steps.Step {
	t.Helper()
	on.r.RehearseAhead(t.Context(), on.View, step)
	synctest.Wait()
	on.View.PodProblem = on.r.ProblemOf(on.View)
	return plan.Plan(on.View.State)
}

// An administrator installs a policy that refuses the Pods of a running cluster. Without this, the user learns of it when a node is lost and
// the member is not replaced.
func TestAPodThatTheAPIServerRefusesIsReportedBeforeAMemberIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		on := ahead(t, func(o client.Object) error {
			return apierrors.NewForbidden(clustertest.PodResource, o.GetName(), clustertest.ErrText("violates PodSecurity"))
		})
		step := on.pass(t, steps.Done{})
		advice, is := step.(steps.Advice)
		if !is || advice.Reason != v1beta2.ReasonPodRefused || !strings.Contains(advice.Message, "violates PodSecurity") || on.Created != 1 {
			t.Fatalf("after %d dry runs the plan is %+v, want an advice", on.Created, step)
		}
		if status := plan.NewStatus(on.View.State, step, nil, v1beta2.EtcdClusterStatus{}, 1); status.Phase != v1beta2.ClusterPhaseRunning {
			t.Errorf("the cluster is reported as %s, although its members serve", status.Phase)
		}
	})
}

// A thousand clusters that are looked at every ten seconds would cost the API server a hundred requests in each second.
func TestThePodOfAHealthyClusterIsTriedOncePerSpec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answer error
		on := ahead(t, func(client.Object) error { return answer })
		after := func(d time.Duration, dryRuns int, why string) {
			t.Helper()
			on.View.Now = on.View.Now.Add(d)
			on.pass(t, steps.Done{})
			if on.Created != dryRuns {
				t.Errorf("%d dry runs after %s, want %d: %s", on.Created, d, dryRuns, why)
			}
		}
		after(0, 1, "the operator has just started")
		after(24*time.Hour, 1, "the Pod was accepted")
		on.View.Cluster.Generation++
		answer = apierrors.NewBadRequest("no")
		after(time.Second, 2, "the spec has changed")
		after(foreseeAgain-time.Second, 2, "the Pod was refused a moment ago")
		answer = apierrors.NewInternalError(errors.New("a webhook cannot be reached"))
		after(time.Second, 3, "somebody may have corrected it")
		if on.View.PodProblem == "" {
			t.Error("a call without an answer ends the advice")
		}
		answer = nil
		after(foreseeAgain, 4, "the last call had no answer")
		if on.View.PodProblem != "" {
			t.Errorf("the advice lasts after the Pod is accepted: %s", on.View.PodProblem)
		}
	})
}

// A webhook that hangs for its ten seconds would delay the replacement of a lost member by that.
func TestNoPassWaitsForThePodThatIsTriedAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan struct{})
		on := ahead(t, func(client.Object) error { <-hangs; return nil })
		began := time.Now()
		for range 3 {
			on.pass(t, steps.Done{})
		}
		if waited := time.Since(began); waited > 0 || on.Created != 1 {
			t.Errorf("%d dry runs at the same time, and the passes waited for %s", on.Created, waited)
		}
		close(hangs)
		synctest.Wait()
	})
}

// What is being repaired or changed reports a refused Pod by itself, and must not share the API server with a rehearsal.
func TestNoPodIsTriedAheadDuringARepair(t *testing.T) {
	for name, test := range map[string]struct {
		step   steps.Step
		change func(*view.View)
	}{
		"a step was carried out":  {steps.CreateMember{Name: plantest.NameOf(0)}, func(*view.View) {}},
		"a member does not serve": {steps.Wait{}, func(v *view.View) { plantest.Silent(&v.Members[0]) }},
		"no quorum answers":       {steps.Wait{}, func(v *view.View) { v.MembershipKnown = false }},
		"a member is missing":     {steps.Wait{}, func(v *view.View) { v.Spec.Size = 3 }},
		"the cluster is paused":   {steps.Idle{}, func(v *view.View) { v.Spec.Paused = true }},
		"a member hangs":          {steps.Done{}, func(v *view.View) { v.Remembered = true }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				on := ahead(t, func(client.Object) error { return nil })
				test.change(on.View)
				on.pass(t, test.step)
				if on.Created > 0 {
					t.Errorf("%d dry runs, want none", on.Created)
				}
			})
		})
	}
}

// An operator that restarts finds a thousand clusters. It must not send a thousand Pods through the webhooks of the cluster at once.
func TestDryRunsOfManyClustersAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits, now := NewForesight(), plantest.Noon
		var running, most, began atomic.Int32
		const seconds = 60
		for range seconds {
			for range 1000 { // each cluster is looked at
				if !limits.begin(now) {
					continue
				}
				began.Add(1)
				most.Store(max(most.Load(), running.Add(1)))
				go func() {
					defer limits.end()
					defer running.Add(-1)
					ctx, cancel := context.WithTimeout(t.Context(), foreseeTimeout)
					defer cancel()
					<-ctx.Done() // a webhook that hangs
				}()
			}
			now = now.Add(time.Second)
			<-time.After(time.Second)
		}
		if most.Load() != foreseeAtOnce {
			t.Errorf("%d dry runs at the same time, want %d", most.Load(), foreseeAtOnce)
		}
		<-time.After(time.Minute)
		began.Store(0)
		for range seconds {
			for range 1000 {
				if limits.begin(now) {
					began.Add(1)
					limits.end()
				}
			}
			now = now.Add(time.Second)
		}
		if got := began.Load(); got > foreseePerSecond*seconds+foreseeBurst || got < foreseePerSecond*(seconds-1) {
			t.Errorf("%d dry runs in a minute, want %d in each second", got, foreseePerSecond)
		}
	})
}

// A finalizer keeps the volume of a member that was removed. Its name sorts first, and a quota has room for the Pods of the cluster only.
// Without this, the Pod of the removed member is tried, the quota refuses it as one more, and the status warns of members that can restart.
func TestThePodThatIsTriedIsThatOfAMemberAndNotOfALeftoverVolume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		on := ahead(t, func(o client.Object) error {
			return apierrors.NewForbidden(clustertest.PodResource, o.GetName(), clustertest.ErrText("exceeded quota: compute, requested: pods=1, used: pods=1, limited: pods=1"))
		})
		leftover := state.Member{Name: "example-2222222222", Incarnation: on.View.Incarnation, Volume: state.VolumeDeleting}
		on.View.Members = append([]state.Member{leftover}, on.View.Members...)
		if step := on.pass(t, steps.Done{}); on.View.PodProblem != "" || on.Created != 1 {
			t.Errorf("after %d dry runs the problem is %q, and the plan is %+v", on.Created, on.View.PodProblem, step)
		}
	})
}
