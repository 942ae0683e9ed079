package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/fault"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// A person adds a voter with etcdctl, and never starts it. Of a cluster of one this takes the quorum. Without the membership that the
// member knows, the operator saw one voter with its data, took no consent, and advised to delete the only copy.
func TestAVoterThatNeverStartsIsNamedAndLeftOutByConsent(t *testing.T) {
	for size := 1; size <= 7; size++ {
		for _, record := range []string{"kept", "lost"} {
			t.Run(fmt.Sprintf("%d members, the record is %s", size, record), func(t *testing.T) {
				w := world.New(size, true)
				w.Handmade = true
				if o := run.Run(w, plan.Plan); o.Last != (steps.Done{}) {
					t.Fatal(trace(o))
				}
				if !fault.AddNeverStarted(w, false) {
					t.Fatal("etcd refuses the voter")
				}
				if record == "lost" {
					fault.LoseRecord(w)
				}
				o := run.Run(w, plan.Plan)
				wait, is := o.Last.(steps.Wait)
				if !is || !wait.Stalled || !strings.Contains(wait.Message, "guest-") || strings.Contains(wait.Message, "delete their") || len(w.Violations) > 0 {
					t.Fatalf("%v\n%s", w.Violations, trace(o))
				}
				fault.ConsentToForeign(w)
				fault.SayStopped(w)
				if size == 1 {
					w.Cluster.Spec.Recovery = &v1beta2.RecoveryPolicy{QuorumLoss: v1beta2.QuorumLossForceNewCluster}
				}
				if o := run.Run(w, plan.Plan); o.Last != (steps.Done{}) || len(w.Violations) > 0 {
					t.Fatalf("%v\n%s", w.Violations, trace(o))
				}
			})
		}
	}
}

// An API backup brings back the record of a cluster of one, or loses it, and then more than half of the members are lost.
func TestALostQuorumIsRecoveredByConsentAlthoughTheRecordIsLostOrOld(t *testing.T) {
	for size := 3; size <= 7; size += 2 {
		for _, record := range []string{"lost", "old"} {
			t.Run(fmt.Sprintf("%d members, the record is %s", size, record), func(t *testing.T) {
				w := world.New(1, true)
				w.Handmade = true
				run.Run(w, plan.Plan)
				old := w.Cluster.DeepCopy().Status.MemberStatuses
				w.Cluster.Spec.Size = size
				if o := run.Run(w, plan.Plan); o.Last != (steps.Done{}) {
					t.Fatal(trace(o))
				}
				for range size/2 + 1 {
					fault.LoseAnyMember(w)
				}
				fault.LoseRecord(w)
				if record == "old" {
					w.Cluster.Status.MemberStatuses = old
				}
				o := run.Run(w, plan.Plan)
				wait, is := o.Last.(steps.Wait)
				if !is || wait.Reason != v1beta2.ReasonQuorumLost || strings.Contains(wait.Message, "delete their") || len(w.Violations) > 0 {
					t.Fatalf("%v\n%s", w.Violations, trace(o))
				}
				w.Cluster.Spec.Recovery = &v1beta2.RecoveryPolicy{QuorumLoss: v1beta2.QuorumLossForceNewCluster}
				if o := run.Run(w, plan.Plan); o.Last != (steps.Done{}) || len(w.Violations) > 0 {
					t.Fatalf("%v\n%s", w.Violations, trace(o))
				}
			})
		}
	}
}
