package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// oldChoiceOfFive: the status is from an API backup, made while a recovery had just chosen 0 at index 42, because the volumes of 2, 3 and 4 were away (an outage of a
// zone). It was cancelled when they came back. 0 stayed away (its node was partitioned), so the quorum of 1 to 4 acknowledged writes up to index 100. A day later 2, 3
// and 4 are lost for good, with the API, whose backup is restored.
func oldChoiceOfFive(t *testing.T) (state.State, v1beta2.EtcdClusterStatus) {
	t.Helper()
	then := stateWith(formed, members(5), size(5), noQuorum, consenting, recorded, with(0, knows(42, 3)), with(1, knows(41, 3)), with(2, gone), with(3, gone), with(4, gone))
	then.Now = noon.Add(-24 * time.Hour)
	for i := range then.Members {
		then.Members[i].VolumeCreated, then.Members[i].UnreadySince = noon.Add(-48*time.Hour), then.Now.Add(-time.Hour)
	}
	begin, is := Plan(then).(steps.BeginRecovery)
	if !is || begin.Member != nameOf(0) {
		t.Fatalf("%T %s", Plan(then), steps.Describe(then, Plan(then)).Message)
	}
	status := NewStatus(then, begin, nil, statusOf(then), 1)
	now := then
	now.Now, now.Recovery = noon, status.Recovery.DeepCopy()
	return now, status
}

func TestAnOldChoiceIsNotForcedBesideAMemberThatKnowsMore(t *testing.T) {
	for name, change := range map[string]change{
		"1 runs and says so":       with(1, knows(100, 4)),
		"1 says so by its metrics": with(1, silent, func(m *state.Member) { m.RaftIndex = 100 }),
	} {
		t.Run(name, func(t *testing.T) {
			s, status := oldChoiceOfFive(t)
			change(&s)
			for i := range s.Members {
				if s.Members[i].Pod != state.PodNone {
					s.Members[i].UnreadySince = noon.Add(-time.Hour)
				}
			}
			known := map[int]uint64{0: 42, 1: 100}
			o := slowWorld{stop: 10 * time.Second, index: func(i int) uint64 { return known[i] }}.from(s, status)
			o.isNot(t, nameOf(0), "member 1 has index 100, which etcd has acknowledged")
		})
	}
}

// stoppingSurvivor: the fence took more than five minutes, so the survivor was asked again, and its Pod is stopped to start with the flag.
func stoppingSurvivor() (state.State, v1beta2.EtcdClusterStatus) {
	s := stateWith(formed, members(5), size(5), noQuorum, consenting, recorded, with(0, knows(42, 3)), with(1, knows(41, 3)),
		with(2, withoutPod, volume(state.VolumeLost)), with(3, withoutPod, volume(state.VolumeLost)), with(4, withoutPod, volume(state.VolumeLost)))
	for i := range s.Members {
		s.Members[i].VolumeCreated, s.Members[i].UnreadySince = noon.Add(-24*time.Hour), noon.Add(-time.Hour)
	}
	status := statusOf(s)
	do := doer(&s, &status)
	do(Plan(s)) // BeginRecovery
	return s, status
}

// While the survivor's Pod stops (terminationGracePeriodSeconds: 1800), which never had the flag, the storage comes back: 2, 3 and 4 have their volumes with all acknowledged
// writes. The record is renewed each minute, so it is never too old, and the survivor is not asked.
func TestASurvivorThatStopsSlowlyIsNotForcedWhenTheDataIsBack(t *testing.T) {
	s, status := stoppingSurvivor()
	if s.Recovery == nil || s.Recovery.Member != nameOf(0) {
		t.Fatalf("%+v", s.Recovery)
	}
	var stopping time.Time
	back := func(_ time.Duration, s *state.State) {
		if s.Recovery != nil && s.Recovery.ForcedAt != nil && stopping.IsZero() && s.Members[0].Pod == state.PodDeleting {
			stopping = s.Now
		}
		if !stopping.IsZero() && s.Now.Sub(stopping) == 10*time.Minute {
			for i := 2; i < 5; i++ {
				with(i, volume(state.VolumePresent))(s)
			}
		}
	}
	o := slowWorld{stop: 30 * time.Minute, before: back}.from(s, status)
	if stopping.IsZero() {
		t.Error("the survivor never stopped, so the test tested nothing")
	}
	o.isNot(t, nameOf(0), "four of five voters have their data, and nothing was changed yet")
}

// The node of the survivor fails while its Pod stops. The record is renewed each minute for ever. While the clocks differ, GoneBy is not known, and only the limit of the wait stalls it.
func TestASurvivorOnADeadNodeStallsTheRecovery(t *testing.T) {
	for name, skew := range map[string]time.Duration{"agree": 0, "differ": 2 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			s, status := stoppingSurvivor()
			for i := 1; i < 5; i++ {
				with(i, gone)(&s)
			}
			s.Recovery.ForcedAt = &metav1.Time{Time: noon}
			status.Recovery = s.Recovery.DeepCopy()
			do := doer(&s, &status)
			m := &s.Members[0]
			m.Pod, m.Answers, m.Knows, m.RaftIndex, m.GoneBy = state.PodDeleting, false, nil, 0, noon.Add(30*time.Second)
			certificates.NoteClock(&s, skew)
			stalled, longest, flips, was := time.Duration(0), time.Duration(0), 0, false
			for passed := time.Duration(0); passed < 6*time.Hour; passed += 5 * time.Second {
				s.Now = noon.Add(passed)
				if skew != 0 {
					m.GoneBy = time.Time{} // as CorrectTimes does
				}
				step, _ := Choose(s)
				if wait, is := step.(steps.Wait); is {
					step = Bounded(s, wait)
				}
				s.Waiting.Saw(Waits(s, step), s.Now)
				wait, is := step.(steps.Wait)
				if is && wait.Stalled {
					stalled += 5 * time.Second
				} else {
					stalled = 0
				}
				if now := is && wait.Stalled; now != was {
					flips, was = flips+1, now
				}
				longest = max(longest, stalled)
				do(step)
			}
			t.Logf("stalled for at most %s in a row, %d changes in six hours", longest, flips)
			if longest < 15*time.Minute {
				t.Errorf("within six hours the status was stalled for at most %s in a row; it changed %d times", longest, flips)
			}
		})
	}
}
