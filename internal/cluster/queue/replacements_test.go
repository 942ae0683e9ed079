package queue

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

func named(n int) types.NamespacedName {
	return types.NamespacedName{Namespace: fmt.Sprint("ns-", n), Name: "example"}
}

func TestLostMembersOfManyClustersAreReplacedAFewAtATime(t *testing.T) {
	lost := steps.RemoveMember{Cause: state.LostData}
	b := NewBrake(2, 3)
	for n := range 2 {
		if err := b.Begin(named(n), lost, plantest.Noon); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Begin(named(2), lost, plantest.Noon); !errors.Is(err, errBraked) {
		t.Errorf("the third replacement: %v, expected that it waits", err)
	}
	if got := b.State(named(2), plantest.Noon); !got.Held || got.Running != 2 || got.Limit != 2 || got.PerMinute != 3 {
		t.Errorf("the third cluster sees %+v", got)
	}
	if b.State(named(0), plantest.Noon).Held || b.Begin(named(0), lost, plantest.Noon) != nil {
		t.Error("a cluster that replaces a member is held up by itself")
	}
	b.End(named(0))
	if err := b.Begin(named(2), lost, plantest.Noon); err != nil {
		t.Errorf("a replacement has ended, and the third is refused: %v", err)
	}
	b.End(named(1))
	if err := b.Begin(named(3), lost, plantest.Noon.Add(time.Second)); !errors.Is(err, errBraked) {
		t.Errorf("the fourth in a minute: %v, expected that it waits", err)
	}
	if err := b.Begin(named(3), lost, plantest.Noon.Add(time.Minute)); err != nil {
		t.Errorf("a minute later: %v", err)
	}
}

func TestAReplacementThatCannotEndHoldsUpOthersForALimitedTime(t *testing.T) {
	b := NewBrake(1, 10)
	if err := b.Begin(named(0), steps.RemoveMember{Cause: state.LostData}, plantest.Noon); err != nil {
		t.Fatal(err)
	}
	if !b.State(named(1), plantest.Noon.Add(replacementLimit-time.Second)).Held || b.State(named(1), plantest.Noon.Add(replacementLimit)).Held {
		t.Error("the other cluster is not held for exactly the limit")
	}
}

func TestOnlyReplacementsOfLostMembersAreBraked(t *testing.T) {
	b := NewBrake(0, 0)
	for _, step := range []steps.Step{steps.RemoveMember{}, steps.RemoveMember{Cause: state.CorruptData}, steps.CreateMember{}, steps.DeletePod{}} {
		if err := b.Begin(named(0), step, plantest.Noon); err != nil {
			t.Errorf("%T: %v", step, err)
		}
	}
}

func TestAReplacementThatIsTriedAgainHoldsUpOthersForALimitedTime(t *testing.T) {
	b := NewBrake(1, 10)
	for after := time.Duration(0); after < replacementLimit; after += time.Minute {
		if err := b.Begin(named(0), steps.RemoveMember{ID: 2, Cause: state.LostData}, plantest.Noon.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	if b.State(named(1), plantest.Noon.Add(replacementLimit)).Held {
		t.Error("a removal that etcd refuses again and again holds up another cluster for longer than the limit")
	}
}

// One namespace had ten clusters whose lost members were never whole again. Each took its place again as soon as its time was over, so no lost member
// of another namespace was replaced for a day, and the next failure there would have cost the quorum.
func TestOneNamespaceLeavesAReplacementToOthers(t *testing.T) {
	for _, limit := range []int{1, 2, Replacements} {
		b, held := NewBrake(limit, ReplacementsPerMinute), time.Duration(0)
		for ; held < 24*time.Hour; held += 10 * time.Second {
			at := plantest.Noon.Add(held)
			for i := range Replacements {
				_ = b.Begin(types.NamespacedName{Namespace: "tenant", Name: fmt.Sprint(i)}, steps.RemoveMember{ID: etcd.ID(i), Cause: state.LostData}, at)
			}
			if err := b.Begin(types.NamespacedName{Namespace: "another", Name: "db"}, steps.RemoveMember{ID: 99, Cause: state.LostData}, at); !errors.Is(err, errBraked) {
				break
			}
		}
		if most := map[bool]time.Duration{true: time.Duration(Replacements) * replacementLimit, false: time.Minute}[limit == 1]; held > most {
			t.Errorf("with %d places, the lost member of another namespace was not replaced for %v", limit, held)
		}
	}
}
