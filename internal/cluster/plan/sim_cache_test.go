package plan_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/effects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/fault"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// TestAnOldCacheStopsNoMember: the cache of a replica that has just become leader shows a spec that has changed since.
func TestAnOldCacheStopsNoMember(t *testing.T) {
	w := world.New(3, true)
	run.Run(w, plan.Plan)
	w.Cluster.Spec.Hibernate = true
	old := run.Snapshot(w)
	w.Cluster.Spec.Hibernate = false
	s := run.ObserveThrough(w, old)
	step := plan.Plan(s)
	if _, stops := step.(steps.DeletePod); !stops {
		t.Fatalf("the step is %+v", step)
	}
	if behind := run.DoThrough(w, old, s, step); behind != "spec" || len(w.Violations) > 0 {
		t.Errorf("behind by %q; %v", behind, w.Violations)
	}
}

// TestAnOldCacheRemovesNoMember: the cache shows a Pod that was not ready for 5 minutes. The Pod is ready by now.
func TestAnOldCacheRemovesNoMember(t *testing.T) {
	w := world.New(3, true)
	run.Run(w, plan.Plan)
	old := run.Snapshot(w)
	s := run.ObserveThrough(w, old)
	step := steps.RemoveMember{ID: s.Members[2].ID, Name: s.Members[2].Name, Cause: "it has not served for 5m"}
	if behind := run.DoThrough(w, old, s, step); behind != "Pod "+step.Name || len(w.Violations) > 0 {
		t.Errorf("behind by %q; %v", behind, w.Violations)
	}
}

// TestAnOldCacheStopsNoPodThatRunsByNow: the cache shows a Pod that does not run. Its member may lead by now (SIM_SEED=1,
// world 784).
func TestAnOldCacheStopsNoPodThatRunsByNow(t *testing.T) {
	w := observe.From(formed(3, true, []condition{ready, ready, starting}))
	old := run.Snapshot(w)
	run.Run(w, plan.Plan)
	s := run.ObserveThrough(w, old)
	if s.Members[2].Pod != state.PodStarting {
		t.Fatalf("the cache shows %+v", s.Members[2])
	}
	step := steps.DeletePod{Name: s.Members[2].Name, Reason: v1beta2.ReasonMemberDown, Message: "its volume is being deleted"}
	if behind := run.DoThrough(w, old, s, step); behind != "Pod "+step.Name {
		t.Errorf("behind by %q", behind)
	}
}

// TestAnOldCacheCreatesNoVolumes: the cache shows a cluster that has not formed. A member that had voted and lost its volume would
// restart without its data (SIM_SEED=2, world 276).
func TestAnOldCacheCreatesNoVolumes(t *testing.T) {
	w := world.New(3, true)
	for range 9 {
		old := run.Snapshot(w)
		s := observe.Observe(w)
		if _, creates := plan.Plan(s).(steps.CreateVolumes); !creates {
			run.Pass(w, plan.Plan)
			continue
		}
		run.Run(w, plan.Plan)
		s = run.ObserveThrough(w, old)
		if behind := run.DoThrough(w, old, s, steps.CreateVolumes{Incarnation: 1, Size: 3}); behind != "status.incarnation" {
			t.Errorf("behind by %q", behind)
		}
		return
	}
	t.Error("no volumes were created")
}

// TestAnOldCacheTakesNoServiceFromClients: the cache shows a cluster that has not formed (SIM_SEED=2, world 689).
func TestAnOldCacheTakesNoServiceFromClients(t *testing.T) {
	w := world.New(3, true)
	old := run.Snapshot(w)
	run.Run(w, plan.Plan)
	s := run.ObserveThrough(w, old)
	step := plan.Plan(s)
	if _, applies := step.(steps.ApplyServices); !applies {
		t.Fatalf("the step is %+v", step)
	}
	if behind := run.DoThrough(w, old, s, step); behind != "Service" {
		t.Errorf("behind by %q", behind)
	}
}

// TestAnOldCacheSeesEtcdAsItIs: the operator reads the membership from etcd, and not from the cache.
func TestAnOldCacheSeesEtcdAsItIs(t *testing.T) {
	w := world.New(3, true)
	run.Run(w, plan.Plan)
	old := run.Snapshot(w)
	w.Cluster.Spec.Size = 4
	run.Run(w, plan.Plan)
	s := run.ObserveThrough(w, old)
	if s.Spec.Size != 3 || s.Voters().Total != 4 || s.Voters().Healthy != 3 {
		t.Errorf("size %d, voters %+v", s.Spec.Size, s.Voters())
	}
}

// TestAnOldCacheLetsNoSeedTakeOver: the cache shows the Pods from before the old members were restarted.
func TestAnOldCacheLetsNoSeedTakeOver(t *testing.T) {
	seed := condition{"serving", serves}
	request := func(s state.State) state.State { s.Request = request(restoreUID); return s }
	old := run.Snapshot(observe.From(request(restoring(true, v1beta2.RestoreSwitching, []condition{missing, missing, missing}, seed))))
	w := observe.From(request(restoring(true, v1beta2.RestoreSwitching, []condition{ready, ready, missing}, seed)))
	s := run.ObserveThrough(w, old)
	step, adopts := plan.Plan(s).(steps.AdoptSeed)
	if !adopts {
		t.Fatalf("the step is %+v", plan.Plan(s))
	}
	beside := func(m state.Member) string { return "the old member " + m.Name + " may run beside the seed" }
	if behind := run.DoThrough(w, old, s, step); behind != beside(s.Members[0]) && behind != beside(s.Members[1]) || len(w.Violations) > 0 {
		t.Errorf("behind by %q; %v", behind, w.Violations)
	}
}

// TestAnOldCacheRestartsNoMemberBesideOneThatHasStopped: the CA of clients was replaced at once. The cache shows the Pods of two members as ready that
// refuse the operator and vote. One of them has stopped since (SIM_SEED=21, world 15).
func TestAnOldCacheRestartsNoMemberBesideOneThatHasStopped(t *testing.T) {
	w := securedWorld(3, false)
	fault.ReplaceCAOfClients(w)
	fault.StopPod(w, 0)
	restarted := fault.Member(w, 0)
	old, stops := run.Snapshot(w), false
	for second := 0; second < 1800 && !stops; second++ {
		old = run.Snapshot(w)
		if _, stops = plan.Plan(observe.Observe(w)).(steps.DeletePod); !stops {
			run.Pass(w, plan.Plan)
			effects.Second(w)
		}
	}
	s := run.ObserveThrough(w, old)
	step, is := plan.Plan(s).(steps.DeletePod)
	if !is || step.Name == restarted {
		t.Fatalf("the step is %+v", step)
	}
	for i := range 3 {
		if name := fault.Member(w, i); name != restarted && name != step.Name {
			fault.StopPod(w, i)
			if behind := run.DoThrough(w, old, s, step); behind != "Pod "+name || len(w.Violations) > 0 {
				t.Errorf("behind by %q, want Pod %s; %v", behind, name, w.Violations)
			}
			return
		}
	}
}
