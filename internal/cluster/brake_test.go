package cluster

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

func named(n int) types.NamespacedName {
	return types.NamespacedName{Namespace: fmt.Sprint("ns-", n), Name: "example"}
}

func TestLostMembersOfManyClustersAreReplacedAFewAtATime(t *testing.T) {
	lost := plan.RemoveMember{Cause: plan.LostData}
	b := newBrake(2, 3)
	for n := range 2 {
		if err := b.begin(named(n), lost, noon); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.begin(named(2), lost, noon); !errors.Is(err, errBraked) {
		t.Errorf("the third replacement: %v, expected that it waits", err)
	}
	if got := b.state(named(2), noon); !got.Held || got.Running != 2 || got.Limit != 2 || got.PerMinute != 3 {
		t.Errorf("the third cluster sees %+v", got)
	}
	if b.state(named(0), noon).Held || b.begin(named(0), lost, noon) != nil {
		t.Error("a cluster that replaces a member is held up by itself")
	}
	b.end(named(0))
	if err := b.begin(named(2), lost, noon); err != nil {
		t.Errorf("a replacement has ended, and the third is refused: %v", err)
	}
	b.end(named(1))
	if err := b.begin(named(3), lost, noon.Add(time.Second)); !errors.Is(err, errBraked) {
		t.Errorf("the fourth in a minute: %v, expected that it waits", err)
	}
	if err := b.begin(named(3), lost, noon.Add(time.Minute)); err != nil {
		t.Errorf("a minute later: %v", err)
	}
}

func TestAReplacementThatCannotEndHoldsUpOthersForALimitedTime(t *testing.T) {
	b := newBrake(1, 10)
	if err := b.begin(named(0), plan.RemoveMember{Cause: plan.LostData}, noon); err != nil {
		t.Fatal(err)
	}
	if !b.state(named(1), noon.Add(replacementLimit-time.Second)).Held || b.state(named(1), noon.Add(replacementLimit)).Held {
		t.Error("the other cluster is not held for exactly the limit")
	}
}

func TestOnlyReplacementsOfLostMembersAreBraked(t *testing.T) {
	b := newBrake(0, 0)
	for _, step := range []plan.Step{plan.RemoveMember{}, plan.RemoveMember{Cause: plan.CorruptData}, plan.CreateMember{}, plan.DeletePod{}} {
		if err := b.begin(named(0), step, noon); err != nil {
			t.Errorf("%T: %v", step, err)
		}
	}
}

func TestAReplacementThatIsTriedAgainHoldsUpOthersForALimitedTime(t *testing.T) {
	b := newBrake(1, 10)
	for after := time.Duration(0); after < replacementLimit; after += time.Minute {
		if err := b.begin(named(0), plan.RemoveMember{ID: 2, Cause: plan.LostData}, noon.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	if b.state(named(1), noon.Add(replacementLimit)).Held {
		t.Error("a removal that etcd refuses again and again holds up another cluster for longer than the limit")
	}
}

// One namespace had ten clusters whose lost members were never whole again. Each took its place again as soon as its time was over, so no lost member
// of another namespace was replaced for a day, and the next failure there would have cost the quorum.
func TestOneNamespaceLeavesAReplacementToOthers(t *testing.T) {
	for _, limit := range []int{1, 2, Replacements} {
		b, held := newBrake(limit, ReplacementsPerMinute), time.Duration(0)
		for ; held < 24*time.Hour; held += 10 * time.Second {
			at := noon.Add(held)
			for i := range Replacements {
				_ = b.begin(types.NamespacedName{Namespace: "tenant", Name: fmt.Sprint(i)}, plan.RemoveMember{ID: etcd.ID(i), Cause: plan.LostData}, at)
			}
			if err := b.begin(types.NamespacedName{Namespace: "another", Name: "db"}, plan.RemoveMember{ID: 99, Cause: plan.LostData}, at); !errors.Is(err, errBraked) {
				break
			}
		}
		if most := map[bool]time.Duration{true: time.Duration(Replacements) * replacementLimit, false: time.Minute}[limit == 1]; held > most {
			t.Errorf("with %d places, the lost member of another namespace was not replaced for %v", limit, held)
		}
	}
}
