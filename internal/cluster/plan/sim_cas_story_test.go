package plan_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/effects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/fault"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
)

// securedWorld is a cluster with TLS that is done.
func securedWorld(size int, managed bool) *world.World {
	w := world.New(size, true)
	w.Secure(managed)
	run.Run(w, plan.Plan)
	return w
}

// The CA has expired, and the first member restarts for the next one. Its container ends every four minutes, on a node whose clock is an hour behind. The others are the
// quorum of the clients that are connected, and none of them is restarted.
func TestAClockOfANodeDoesNotMakeAMemberRunLonger(t *testing.T) {
	t.Parallel()
	w := securedWorld(3, true)
	fault.ExpireCA(w)
	for range 3600 {
		fault.SlowNodeClocks(w)
		fault.EndLate(w, 240)
		run.Pass(w, plan.Plan)
		effects.Second(w)
	}
	for _, v := range w.Violations {
		t.Error(v)
	}
	if !w.Serves() {
		t.Error("the members that have not been restarted do not serve")
	}
}

// All members answer too late in one pass of a restore, while the CA is rotated.
func TestASlowReadStopsNoSeedWhileACAIsRotated(t *testing.T) {
	t.Parallel()
	for slow := range 60 {
		w := securedWorld(1, true)
		during["a restore"](w)
		goOn(w, 2)
		fault.RotateCA(w)
		goOn(w, slow)
		for range 120 { // the operator is busy with others
			effects.Second(w)
		}
		run.SlowPass(w, plan.Plan)
		if run.Run(w, plan.Plan); len(w.Violations) > 0 {
			t.Fatalf("slow in pass %d: %s", slow, w.Violations[0])
		}
	}
}

// A member answers no one, and the CAs change every three minutes, each time with a restart. It is replaced after some time.
func TestAMemberWhoseCAsChangeOftenIsReplaced(t *testing.T) {
	t.Parallel()
	w := securedWorld(3, false)
	name := fault.Member(w, 0)
	for second := range 3600 {
		if !fault.Hang(w, name) {
			return
		}
		if second%180 == 0 {
			fault.AddCA(w)
		}
		run.Pass(w, plan.Plan)
		effects.Second(w)
		if len(w.Violations) > 0 {
			t.Fatal(w.Violations[0])
		}
	}
	t.Error("it is not replaced within an hour")
}
