package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// ahead is a healthy cluster of one member whose Pod is tried before it is needed.
func ahead(t *testing.T, answer func(client.Object) error) *rehearsal {
	t.Helper()
	on := newRehearsal(t, answer)
	on.v.Spec.Size, on.v.Budget.MinAvailable = 1, 0
	on.r.foresight = newForesight()
	return on
}

// pass ends a pass that has carried out a step, and returns what the next pass plans.
func (on *rehearsal) pass(t *testing.T, step plan.Step) plan.Step {
	t.Helper()
	on.r.rehearseAhead(t.Context(), on.v, step)
	synctest.Wait()
	on.v.PodProblem = on.v.known.pod.problemOf(on.v.cluster.Generation)
	return plan.Plan(on.v.State)
}

// An administrator installs a policy that refuses the Pods of a running cluster. Without this, the user learns of it when a node is lost and
// the member is not replaced.
func TestAPodThatTheAPIServerRefusesIsReportedBeforeAMemberIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		on := ahead(t, func(o client.Object) error {
			return apierrors.NewForbidden(pods, o.GetName(), errText("violates PodSecurity"))
		})
		step := on.pass(t, plan.Done{})
		advice, is := step.(plan.Advice)
		if !is || advice.Reason != v1beta2.ReasonPodRefused || !strings.Contains(advice.Message, "violates PodSecurity") || on.created != 1 {
			t.Fatalf("after %d dry runs the plan is %+v, want an advice", on.created, step)
		}
		if status := plan.NewStatus(on.v.State, step, nil, v1beta2.EtcdClusterStatus{}, 1); status.Phase != v1beta2.ClusterPhaseRunning {
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
			on.v.Now = on.v.Now.Add(d)
			on.pass(t, plan.Done{})
			if on.created != dryRuns {
				t.Errorf("%d dry runs after %s, want %d: %s", on.created, d, dryRuns, why)
			}
		}
		after(0, 1, "the operator has just started")
		after(24*time.Hour, 1, "the Pod was accepted")
		on.v.cluster.Generation++
		answer = apierrors.NewBadRequest("no")
		after(time.Second, 2, "the spec has changed")
		after(foreseeAgain-time.Second, 2, "the Pod was refused a moment ago")
		answer = apierrors.NewInternalError(errors.New("a webhook cannot be reached"))
		after(time.Second, 3, "somebody may have corrected it")
		if on.v.PodProblem == "" {
			t.Error("a call without an answer ends the advice")
		}
		answer = nil
		after(foreseeAgain, 4, "the last call had no answer")
		if on.v.PodProblem != "" {
			t.Errorf("the advice lasts after the Pod is accepted: %s", on.v.PodProblem)
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
			on.pass(t, plan.Done{})
		}
		if waited := time.Since(began); waited > 0 || on.created != 1 {
			t.Errorf("%d dry runs at the same time, and the passes waited for %s", on.created, waited)
		}
		close(hangs)
		synctest.Wait()
	})
}

// What is being repaired or changed reports a refused Pod by itself, and must not share the API server with a rehearsal.
func TestNoPodIsTriedAheadDuringARepair(t *testing.T) {
	for name, test := range map[string]struct {
		step   plan.Step
		change func(*view)
	}{
		"a step was carried out":  {plan.CreateMember{Name: nameOf(0)}, func(*view) {}},
		"a member does not serve": {plan.Wait{}, func(v *view) { silent(&v.Members[0]) }},
		"no quorum answers":       {plan.Wait{}, func(v *view) { v.MembershipKnown = false }},
		"a member is missing":     {plan.Wait{}, func(v *view) { v.Spec.Size = 3 }},
		"the cluster is paused":   {plan.Idle{}, func(v *view) { v.Spec.Paused = true }},
		"a member hangs":          {plan.Done{}, func(v *view) { v.remembered = true }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				on := ahead(t, func(client.Object) error { return nil })
				test.change(on.v)
				on.pass(t, test.step)
				if on.created > 0 {
					t.Errorf("%d dry runs, want none", on.created)
				}
			})
		})
	}
}

// An operator that restarts finds a thousand clusters. It must not send a thousand Pods through the webhooks of the cluster at once.
func TestDryRunsOfManyClustersAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits, now := newForesight(), noon
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

// The dry run is of no use if the passes of a running operator never begin it, or if the status never reports its answer.
func TestPassesReportThePodThatIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pod := newPod(state(formed, members(1), ephemeral), plan.CreateMember{Name: nameOf(0), Incarnation: 1, Start: plan.StartRejoin}, "")
		pod.OwnerReferences = controlled("uid-example", "", nil).OwnerReferences
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "192.0.2.1", Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}, ContainerStatuses: []corev1.ContainerStatus{{
			Name: plan.EtcdContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}}
		p := newPasses(t, pod)
		var formed v1beta2.EtcdCluster
		if err := p.live.Get(t.Context(), p.key, &formed); err != nil {
			t.Fatal(err)
		}
		formed.Status.ClusterID, formed.Status.Incarnation = oldID, 1
		if err := p.live.Status().Update(t.Context(), &formed); err != nil {
			t.Fatal(err)
		}
		p.Client = interceptor.NewClient(p.live, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
				if _, is := object.(*corev1.Pod); is {
					return apierrors.NewForbidden(pods, object.GetName(), errText("violates PodSecurity"))
				}
				return c.Create(ctx, object, options...)
			},
		})
		p.foresight = newForesight()
		member := etcd.Member{ID: 1, Name: nameOf(0), ClientURLs: []string{"http://x"}}
		p.Dial = func(etcd.Endpoint, *tls.Config) (Etcd, error) {
			return speaking{membership: []etcd.Member{member}, status: etcd.Status{ClusterID: 0xaa, MemberID: 1, LeaderID: 1, Version: "3.6.16", Revision: 40}}, nil
		}
		for range 40 {
			p.pass()
			synctest.Wait()
			p.now = p.now.Add(time.Second)
			if ready := p.ready(); ready != nil && ready.Reason == v1beta2.ReasonPodRefused {
				return
			}
		}
		t.Errorf("after 40 passes the status reports %+v", p.ready())
	})
}

// A finalizer keeps the volume of a member that was removed. Its name sorts first, and a quota has room for the Pods of the cluster only.
// Without this, the Pod of the removed member is tried, the quota refuses it as one more, and the status warns of members that can restart.
func TestThePodThatIsTriedIsThatOfAMemberAndNotOfALeftoverVolume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		on := ahead(t, func(o client.Object) error {
			return apierrors.NewForbidden(pods, o.GetName(), errText("exceeded quota: compute, requested: pods=1, used: pods=1, limited: pods=1"))
		})
		leftover := plan.Member{Name: "example-2222222222", Incarnation: on.v.Incarnation, Volume: plan.VolumeDeleting}
		on.v.Members = append([]plan.Member{leftover}, on.v.Members...)
		if step := on.pass(t, plan.Done{}); on.v.PodProblem != "" || on.created != 1 {
			t.Errorf("after %d dry runs the problem is %q, and the plan is %+v", on.created, on.v.PodProblem, step)
		}
	})
}
