package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

func lostTwoOfThree() state.State {
	s := stateWith(formed, members(3), noQuorum, consenting, recorded, with(0, knows(42, 3)), with(1, gone), with(2, gone))
	for i := range s.Members {
		s.Members[i].VolumeCreated = noon.Add(-24 * time.Hour)
		s.Members[i].UnreadySince = noon.Add(-time.Hour)
	}
	return s
}

// Two of three volumes are lost, and the spec consents. spec.pod.terminationGracePeriodSeconds is 600 (3600 is allowed), and a container beside etcd uses it: a
// shell or "sleep infinity" as process 1 ignores SIGTERM. So each stop of a Pod takes ten minutes. The record that the survivor is forced is made while
// its Pod runs, and is older than forceWindow when the Pod has stopped.
func TestARecoveryEndsAlthoughPodsStopSlowly(t *testing.T) {
	for _, stop := range []time.Duration{30 * time.Second, 4 * time.Minute, 6 * time.Minute, 10 * time.Minute} {
		t.Run(stop.String(), func(t *testing.T) {
			s := lostTwoOfThree()
			slowWorld{stop: stop}.from(s, statusOf(s)).serves(t)
		})
	}
}

// The same with five voters, of which 0 and 1 have data. The recovery is cancelled after the claim of 1 was marked, so a person must decide, although nothing was changed.
func TestARecoveryOfFiveEndsAlthoughPodsStopSlowly(t *testing.T) {
	s := stateWith(formed, members(5), size(5), noQuorum, consenting, recorded, with(0, knows(42, 3)), with(1, knows(41, 3)), with(2, gone), with(3, gone), with(4, gone))
	for i := range s.Members {
		s.Members[i].VolumeCreated, s.Members[i].UnreadySince = noon.Add(-24*time.Hour), noon.Add(-time.Hour)
	}
	slowWorld{stop: 6 * time.Minute}.from(s, statusOf(s)).serves(t)
}

// 0, 1 and 2 are the operator's voters, and a guest votes, too (a migration). 1, 2 and the guest are lost; a person says that the guest has stopped, as the status asks. The survivor runs on
// and knows the guest as a voter, as it did when it was chosen. The clock of the operator differs from that of the API server.
func TestARecoveryBesideAForeignVoterEndsWhileClocksDiffer(t *testing.T) {
	for name, skew := range map[string]time.Duration{"the same": 0, "the operator's is 2 h behind": 2 * time.Hour, "the operator's is 10 min ahead": -10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			s := lostTwoOfThree()
			guest()(&s)
			s.Asked.StoppedForeign = []string{guestID.String()}
			var membership []etcd.Member
			for i := range 3 {
				membership = append(membership, etcd.Member{ID: etcd.ID(i + 1), Name: nameOf(i), PeerURLs: []string{peerURLOf(i)}, ClientURLs: []string{"http://x"}})
			}
			membership = append(membership, etcd.Member{ID: guestID, Name: "guest", PeerURLs: []string{"http://10.0.0.5:2380"}, ClientURLs: []string{"http://x"}})
			slowWorld{stop: 30 * time.Second, skew: skew, membership: membership}.from(s, statusOf(s)).serves(t)
		})
	}
}

// The same guest, clocks that agree, and five own voters, of which 0 and 1 have data. The spec has a long grace period, and the Pods use it, so the fence takes six
// minutes. Each time it is complete, the choice is confirmed, and the survivor knows the guest.
func TestARecoveryBesideAForeignVoterEndsAlthoughTheFenceIsSlow(t *testing.T) {
	for _, stop := range []time.Duration{30 * time.Second, 6 * time.Minute} {
		t.Run(stop.String(), func(t *testing.T) {
			s := stateWith(formed, members(5), size(5), noQuorum, consenting, recorded, with(0, knows(42, 3)), with(1, knows(41, 3)), with(2, gone), with(3, gone), with(4, gone), guest())
			var membership []etcd.Member
			for i := range s.Members {
				s.Members[i].VolumeCreated, s.Members[i].UnreadySince = noon.Add(-24*time.Hour), noon.Add(-time.Hour)
				membership = append(membership, etcd.Member{ID: etcd.ID(i + 1), Name: nameOf(i), PeerURLs: []string{peerURLOf(i)}, ClientURLs: []string{"http://x"}})
			}
			membership = append(membership, etcd.Member{ID: guestID, Name: "guest", PeerURLs: []string{"http://10.0.0.5:2380"}, ClientURLs: []string{"http://x"}})
			s.Asked.StoppedForeign = []string{guestID.String()}
			slowWorld{stop: stop, membership: membership}.from(s, statusOf(s)).serves(t)
		})
	}
}

// The clock of the operator's node was a day ahead when the seed was ready, so the request for the safety snapshot and its answer have that time. Then the
// cluster is paused, and NTP corrects the clock. Forty minutes later the pause ends: the safety snapshot is too old, and the operator asks for another one. Its request
// has the right time, so the old answer seems to be the answer: restore-operator takes no other one (restore/state/safety.go SafetyRecorded), and the operator asks again in each pass.
func TestASafetySnapshotIsTakenAgainAlthoughTheClockWasAhead(t *testing.T) {
	s := stateWith(formed, members(3), storage("3.6.0"), restored(v1beta2.RestoreSeeding), asked, aSeed(serving))
	s.Request.Safety = v1beta2.SafetySnapshotRequired
	wrong := metav1.NewTime(noon.Add(24 * time.Hour))
	s.Restore.SeedReadyTime = &wrong
	saved := v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotTaken, Path: "s3://b/k", Revision: 5, Time: wrong}
	status := statusOf(s)
	status.Restore = s.Restore.DeepCopy()
	var seen clock.Seen
	asks := 0
	for passed := time.Duration(0); passed < 8*time.Hour; passed += 30 * time.Second {
		s.Now = noon.Add(passed)
		s.Spec.Paused = passed < 40*time.Minute
		s.Restore = status.Restore.DeepCopy()
		if ready := s.Restore.SeedReadyTime; ready != nil && saved.Time.Before(ready) { // as restore-operator decides
			saved.Time = *ready
		}
		s.Request.Saved, s.Request.SavedFor = saved.DeepCopy(), saved.Time.Time
		certificates.CorrectTimes(&s, &seen)
		step := Plan(s)
		switch step.(type) {
		case steps.BeginSwitch:
			return
		case steps.AwaitSafetySnapshot:
			asks++
		}
		status = NewStatus(s, step, nil, status, 1)
	}
	t.Errorf("the seed does not take over within 8 h, and the safety snapshot was asked for %d times; the status says: %s", asks, steps.Describe(s, Plan(s)).Message)
}

// The clocks agree, and restore-operator has saved for two minutes (a large database). Then the connection of cluster-operator moves to an API server whose clock is 20 min ahead (one of
// three control planes without NTP). The limit of 15 min was recorded by one clock, and is compared with another.
func TestAnAPIServerWhoseClockIsAheadEndsNoWaitForASafetySnapshot(t *testing.T) {
	for _, policy := range []v1beta2.SafetySnapshotPolicy{v1beta2.SafetySnapshotIfPossible, v1beta2.SafetySnapshotRequired} {
		t.Run(string(policy), func(t *testing.T) {
			s := stateWith(formed, members(3), storage("3.6.0"), restored(v1beta2.RestoreSeeding), asked, aSeed(serving))
			s.Request.Safety = policy
			status := statusOf(s)
			status.Restore = s.Restore.DeepCopy()
			if _, is := Plan(s).(steps.AwaitSafetySnapshot); !is {
				t.Fatalf("%T", Plan(s))
			}
			status = NewStatus(s, Plan(s), nil, status, 1)
			var seen clock.Seen
			for _, passed := range []time.Duration{time.Minute, 2 * time.Minute} {
				s.Restore, s.Now = status.Restore.DeepCopy(), noon.Add(passed)
				if passed == 2*time.Minute {
					certificates.NoteClock(&s, 20*time.Minute)
				}
				certificates.CorrectTimes(&s, &seen)
				step := Plan(s)
				if _, waits := step.(steps.Wait); !waits {
					t.Errorf("after %s: %T %s", passed, step, steps.Describe(s, step).Message)
				}
				status = NewStatus(s, step, nil, status, 1)
			}
		})
	}
}

// The same behind the fence of an exact restore.
func TestAnAPIServerWhoseClockIsAheadEndsNoExactRestore(t *testing.T) {
	s := givenExact()
	s.Restore.SeedReadyTime = nil
	status := statusOf(s)
	status.Restore = s.Restore.DeepCopy()
	if _, is := Plan(s).(steps.AwaitSafetySnapshot); !is {
		t.Fatalf("%T", Plan(s))
	}
	status = NewStatus(s, Plan(s), nil, status, 1)
	s.Restore, s.Now = status.Restore.DeepCopy(), noon.Add(2*time.Minute)
	certificates.NoteClock(&s, 20*time.Minute)
	var seen clock.Seen
	certificates.CorrectTimes(&s, &seen)
	if step, waits := Plan(s).(steps.Wait); !waits {
		t.Errorf("after two minutes: %T %s", Plan(s), steps.Describe(s, Plan(s)).Message)
	} else {
		t.Log(step.Message)
	}
}

// The clocks differ by two minutes. The required safety snapshot was taken at 6:00, and the cluster was paused then. The operator is upgraded at 11:50, and the pause ends at 12:00. The members have
// acknowledged six hours of writes since. A new process counts the age of the snapshot from when it first saw it.
func TestASafetySnapshotIsTakenAgainAfterARestartWhileClocksDiffer(t *testing.T) {
	for name, skew := range map[string]time.Duration{"agree": 0, "differ": 2 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			s := stateWith(formed, members(3), storage("3.6.0"), restored(v1beta2.RestoreSeeding), asked, aSeed(serving))
			s.Request.Safety = v1beta2.SafetySnapshotRequired
			at := metav1.NewTime(noon.Add(-6 * time.Hour))
			s.Restore.SeedReadyTime = &at
			saved := v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotTaken, Path: "s3://b/k", Revision: 5, Time: at}
			status := statusOf(s)
			status.Restore = s.Restore.DeepCopy()
			var seen clock.Seen // of the new process
			for passed := -10 * time.Minute; passed <= 0; passed += time.Minute {
				s.Now = noon.Add(passed)
				certificates.NoteClock(&s, skew)
				s.Spec.Paused = passed < 0
				s.Restore = status.Restore.DeepCopy()
				s.Request.Saved, s.Request.SavedFor = saved.DeepCopy(), saved.Time.Time
				certificates.CorrectTimes(&s, &seen)
				step := Plan(s)
				if _, is := step.(steps.BeginSwitch); is {
					t.Errorf("the switch begins although the safety snapshot is six hours old")
				}
				status = NewStatus(s, step, nil, status, 1)
			}
		})
	}
}

// The time of a choice is compared with the times of claims, which the API server writes. By another clock, a choice would seem old at once, or a claim
// of later would seem older than the recovery.
func TestAChoiceIsTimedByTheClockOfTheAPIServer(t *testing.T) {
	for _, skew := range []time.Duration{-2 * time.Hour, 0, 2 * time.Hour} {
		t.Run(skew.String(), func(t *testing.T) {
			s := lostTwoOfThree()
			certificates.NoteClock(&s, skew)
			s.Recovery = NewStatus(s, Plan(s), nil, statusOf(s), 1).Recovery
			if at := noon.Add(skew); s.Recovery == nil || !s.Recovery.StartedAt.Time.Equal(at) {
				t.Fatalf("the recovery is %+v, and began at %s by the API server", s.Recovery, at)
			}
			survivor, _ := state.Find(s, s.Recovery.Member)
			for after, want := range map[time.Duration]bool{time.Minute: false, 10 * time.Minute: true} {
				s.Now = noon.Add(after)
				if old := recovery.ChoiceIsOld(s, survivor); old != want {
					t.Errorf("after %s the choice is old: %t", after, old)
				}
			}
		})
	}
}
