package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// spaceRun plans once a second for a cluster whose space quota is used up, and records what the operator records. Times have the precision of
// the API.
type spaceRun struct {
	state.State
	deleteEvery time.Duration // keys are deleted so often; 0 is never
	defragment  func(*state.Member)
	counts      map[string]int
}

// until runs until a step ends it, and returns after how long. It returns limit if none does.
func (r *spaceRun) until(limit time.Duration, ends func(steps.Step) bool) time.Duration {
	r.counts = map[string]int{}
	for begin := r.Now; r.Now.Sub(begin) < limit; r.Now = r.Now.Add(time.Second) {
		passed := r.Now.Sub(begin)
		if r.deleteEvery > 0 && passed%r.deleteEvery == 0 {
			for i := range r.Members {
				r.Members[i].Revision++
			}
		}
		step := Plan(r.State)
		if ends(step) {
			return passed
		}
		r.take(step)
	}
	return limit
}

func (r *spaceRun) take(step steps.Step) {
	now := r.Now.Truncate(time.Second)
	switch step := step.(type) {
	case steps.CompactHistory:
		r.Space = &v1beta2.SpaceStatus{CompactedRevision: step.Revision, CompactedAt: ptr.To(metav1.NewTime(now))}
	case steps.DefragmentMember:
		r.counts[step.Name]++
		if r.Defragmented == nil {
			r.Defragmented = map[string]time.Time{}
		}
		r.Defragmented[step.Name] = now
		for i := range r.Members {
			if r.Members[i].Name == step.Name {
				r.defragment(&r.Members[i])
			}
		}
	case steps.MoveLeader:
		for i := range r.Members {
			r.Members[i].Leader = r.Members[i].ID == step.To
		}
	}
}

func disarms(step steps.Step) bool { _, is := step.(steps.DisarmAlarm); return is }

func helps(m *state.Member) { m.DBSize = m.DBSizeInUse + mi }

func helpsLittle(m *state.Member) { m.DBSize = 96 * mi }

// While writes are refused, every second counts. Neither keys that are deleted one by one nor a clock that was ahead may put off what makes room.
func TestSpaceIsReclaimedWithinMinutes(t *testing.T) {
	for name, c := range map[string]spaceRun{
		"no keys are deleted":                   {State: stateWith(formed, members(3), full, database(100, 85)), defragment: helps},
		"keys are deleted one by one":           {State: stateWith(formed, members(3), full, database(100, 85)), deleteEvery: 10 * time.Second, defragment: helps},
		"the last compaction is in the future":  {State: stateWith(formed, members(3), full, database(100, 60), compacted(4000, -time.Hour)), defragment: helps},
		"so are the last defragmentations":      {State: stateWith(formed, members(3), full, database(100, 60), compacted(3000, time.Hour), defragmentedAgo(0, -time.Hour), defragmentedAgo(1, -time.Hour), defragmentedAgo(2, -time.Hour)), defragment: helps},
		"the compaction of a crowded one is so": {State: stateWith(formed, members(3), full, database(100, 85), compacted(4000, -time.Hour)), defragment: helps},
	} {
		t.Run(name, func(t *testing.T) {
			if after := c.until(time.Hour, disarms); after > 3*time.Minute {
				t.Errorf("the alarm is disarmed after %s", after)
			}
		})
	}
}

// The message advises to raise the quota. While keys are deleted one by one, the members must be restarted with it nevertheless.
func TestARaisedQuotaIsAppliedWhileKeysAreDeleted(t *testing.T) {
	raised := func(s *state.State) {
		s.Spec.Pod = &v1beta2.PodPolicy{}
		quotaEnv("209715200")(s)
		for i := range s.Members {
			s.Members[i].Outdated = true
		}
	}
	r := spaceRun{State: stateWith(formed, members(3), full, database(100, 95), raised), deleteEvery: 10 * time.Second, defragment: helpsLittle}
	after := r.until(time.Hour, func(step steps.Step) bool { _, is := step.(steps.DeletePod); return is })
	if after > 3*time.Minute {
		t.Errorf("the first member is restarted after %s", after)
	}
}

// A member does not answer while it is defragmented. If that does not make room, it must not be repeated all the time, and not always at the same
// member.
func TestDefragmentationsThatDoNotHelpAreRare(t *testing.T) {
	unknown := func(s *state.State) {
		for i := range s.Members {
			s.Members[i].DBQuota, s.Members[i].PodQuota = 0, ptr.To(int64(0))
		}
	}
	for name, c := range map[string]spaceRun{
		"the files stay large":      {State: stateWith(formed, members(3), full, database(100, 78)), deleteEvery: 5 * time.Second, defragment: helpsLittle},
		"the quota is unknown":      {State: stateWith(formed, members(3), full, database(100, 20), unknown), deleteEvery: 40 * time.Second, defragment: helps},
		"the keys use it up":        {State: stateWith(formed, members(3), full, database(100, 95)), deleteEvery: 5 * time.Second, defragment: helpsLittle},
		"the keys stay as they are": {State: stateWith(formed, members(3), full, database(100, 95)), defragment: helpsLittle},
	} {
		t.Run(name, func(t *testing.T) {
			c.until(30*time.Minute, disarms)
			most, all := 0, 0
			for _, n := range c.counts {
				most, all = max(most, n), all+n
			}
			if most > 30 || all > 10 && most > all*2/3 {
				t.Errorf("defragmentations in 30 minutes: %v", c.counts)
			}
		})
	}
}

// raisedInVain raises the quota in a spec that keeps the operator from restarting members.
func raisedInVain(s *state.State) {
	quotaEnv("209715200")(s)
	s.Spec.Version = "3.9.0"
	for i := range s.Members {
		s.Members[i].Outdated = true
	}
}

// The spec raises the quota, and something else in it keeps the operator from restarting members. A user who then deletes keys must get room.
func TestSpaceIsReclaimedIfARaisedQuotaCannotBeApplied(t *testing.T) {
	r := spaceRun{State: stateWith(formed, members(3), full, database(100, 95), raisedInVain), deleteEvery: 10 * time.Second, defragment: helpsLittle}
	r.until(2*time.Minute, disarms)
	first := r.Space.CompactedRevision
	r.until(10*time.Minute, func(step steps.Step) bool {
		again, is := step.(steps.CompactHistory)
		return is && again.Revision > first
	})
	if step, is := Plan(r.State).(steps.CompactHistory); !is {
		t.Errorf("after 10 minutes the step is %+v", step)
	}
}

// The last compaction was recorded by a clock that was days ahead, too. No compaction was due until that time, and members were defragmented twice
// a minute.
func TestSpaceIsReclaimedIfTheLastCompactionIsInTheFutureAndARaisedQuotaCannotBeApplied(t *testing.T) {
	r := spaceRun{State: stateWith(formed, members(3), full, database(100, 95), compacted(3000, -24*time.Hour), raisedInVain), deleteEvery: 10 * time.Second, defragment: helpsLittle}
	compactions, defragmentations := 0, 0
	r.until(time.Hour, func(step steps.Step) bool {
		switch step.(type) {
		case steps.CompactHistory:
			compactions++
		case steps.DefragmentMember:
			defragmentations++
		}
		return false
	})
	if compactions < 2 || defragmentations > 30 {
		t.Errorf("%d compactions and %d defragmentations in an hour", compactions, defragmentations)
	}
}
