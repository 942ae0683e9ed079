package plan_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/act"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/effects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/fault"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// writesIn runs a world for a time, and counts the steps that write.
func writesIn(w *world.World, d time.Duration) (writes int, last steps.Step) {
	s, step := run.Pass(w, plan.Plan)
	for until := s.Now.Add(d); s.Now.Before(until); s, step = run.Pass(w, plan.Plan) {
		switch step.(type) {
		case steps.Wait, steps.Idle, steps.Done, steps.Hibernating, steps.AwaitResize:
			last = step
		default:
			writes++
		}
		effects.Tick(w)
	}
	return writes, last
}

// During a lasting fault, the operator must not write without end. After an hour it writes at most once a minute.
func TestNoFaultMakesTheOperatorWriteMoreThanOnceAMinute(t *testing.T) {
	for number := 0; ; number++ {
		for _, durable := range []bool{true, false} {
			w := world.New(3, durable)
			run.Run(w, plan.Plan)
			said, ok := fault.Inflict(w, number, rand.New(rand.NewPCG(1, uint64(number))))
			if !ok {
				return
			}
			writesIn(w, time.Hour)
			if writes, last := writesIn(w, time.Hour); writes > 60 {
				t.Errorf("%s (volumes: %t): %d writes in an hour, then %+v", said, durable, writes, last)
			}
		}
	}
}

// changesIn runs a world for a time with a pass in each second. It counts the steps that change an object, and the changes of
// the status.
func changesIn(w *world.World, d time.Duration) (stepCount, statuses int, last steps.Step) {
	for range int(d / time.Second) {
		before := w.Cluster.Status.DeepCopy()
		_, last = run.Pass(w, plan.Plan)
		if steps.Acts(last) {
			stepCount++
		}
		if !reflect.DeepEqual(before, &w.Cluster.Status) {
			statuses++
		}
		effects.Second(w)
	}
	return stepCount, statuses, last
}

// Tick skips time if nothing changes, which hides a loop that writes without effect. Here each second has a pass.
func TestALastingFaultCausesAtMostOneChangeAMinute(t *testing.T) {
	for name, fault := range map[string]struct {
		begin  func(*world.World)
		reason string
	}{
		"a dead node":                          {func(w *world.World) { fault.LoseNode(w, 0) }, ""},
		"a NetworkPolicy":                      {func(w *world.World) { w.CutOff = true }, v1beta2.ReasonMembersUnreachable},
		"authentication":                       {func(w *world.World) { w.AuthOn = true }, v1beta2.ReasonEtcdAccessDenied},
		"no node for a new Pod":                {func(w *world.World) { w.NoNode = true; w.Cluster.Spec.Size++ }, v1beta2.ReasonPodUnschedulable},
		"no node for an old Pod":               {func(w *world.World) { w.NoNode = true; fault.StopPod(w, 0) }, ""},
		"a bad etcdEnv":                        {func(w *world.World) { fault.BadEnv(w) }, v1beta2.ReasonPodFailing},
		"a lost PersistentVolume, and no node": {func(w *world.World) { w.NoNode = true; fault.LoseVolume(w, 0) }, ""},
		"a kubelet that rejects Pods":          {func(w *world.World) { w.Rejecting = true; fault.StopPod(w, 0) }, v1beta2.ReasonPodFailing},
		"a missing Secret":                     {func(w *world.World) { w.SecretProblem = "Secret x is missing." }, v1beta2.ReasonSecretMissing},
	} {
		t.Run(name, func(t *testing.T) {
			w := world.New(3, true)
			run.Run(w, plan.Plan)
			fault.begin(w)
			changesIn(w, 30*time.Minute)
			stepCount, statuses, last := changesIn(w, 10*time.Minute)
			if stepCount > 10 || statuses > 10 || len(w.Violations) > 0 {
				t.Errorf("%d steps and %d changes of the status in 10 minutes, then %+v; %v", stepCount, statuses, last, w.Violations)
			}
			if wait, is := last.(steps.Wait); fault.reason != "" && (!is || wait.Reason != fault.reason) {
				t.Errorf("it ends with %+v, want a wait with reason %s", last, fault.reason)
			}
		})
	}
}

// If a kubelet rejected Pods (OutOfcpu, TopologyAffinity), the operator recreated them every second.
func TestAPodThatNodesRejectIsRecreatedLessAndLessOften(t *testing.T) {
	for _, size := range []int{1, 3, 7} {
		for _, durable := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d members, volumes %t", size, durable), func(t *testing.T) {
				w := world.New(size, durable)
				run.Run(w, plan.Plan)
				w.Rejecting = true
				s, _ := run.Pass(w, plan.Plan)
				if err := act.Act(w, s, steps.DeletePod{Name: s.Members[0].Name}); err != nil {
					t.Fatal(err)
				}
				writesIn(w, time.Hour)
				writes, last := writesIn(w, time.Hour)
				if writes > 60 {
					t.Errorf("%d writes in an hour, then %+v", writes, last)
				}
				w.Rejecting = false
				if o := run.Run(w, plan.Plan); size > 1 && !o.Settled || durable && o.Last != steps.Step(steps.Done{}) {
					t.Errorf("after the node has room again: %+v", o.Last)
				}
			})
		}
	}
}

// If data is in Pods, a Pod that waits until its member is added is the only object of that member. The count of its failures was
// lost with each Pod, and the operator recreated it every second.
func TestAPodThatWaitsAndIsRejectedIsRecreatedLessAndLessOften(t *testing.T) {
	for _, durable := range []bool{true, false} {
		w := world.New(1, durable)
		run.Run(w, plan.Plan)
		w.Rejecting, w.Cluster.Spec.Size = true, 3
		changesIn(w, 15*time.Minute)
		stepCount, statuses, last := changesIn(w, 10*time.Minute)
		if stepCount > 10 || statuses > 20 {
			t.Errorf("volumes: %t: %d steps and %d changes of the status in 10 minutes, then %+v", durable, stepCount, statuses, last)
		}
		w.Rejecting = false
		if o := run.Run(w, plan.Plan); o.Last != steps.Step(steps.Done{}) || len(w.Cluster.Status.PodFailures) > 0 {
			t.Errorf("volumes: %t: after the node has room again: %+v, %v", durable, o.Last, w.Cluster.Status.PodFailures)
		}
	}
}
