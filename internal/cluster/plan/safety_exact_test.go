package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// exact: the EtcdRestore asks for an exact safety snapshot.
func exact(s *state.State) {
	asked(s)
	s.Request.Safety = v1beta2.SafetySnapshotExact
}

// fencedAt: a quorum accepted the fence of this restore, and acknowledged nothing after that revision.
func fencedAt(revision int64) change {
	return func(s *state.State) {
		fencedBy("uid-back")(s)
		s.Restore.LastRevision = revision
	}
}

func safetyAsked(ago time.Duration) change {
	return func(s *state.State) { s.Restore.SeedReadyTime = &metav1.Time{Time: noon.Add(-ago)} }
}

func savedUpTo(revision int64, ago time.Duration) change {
	return func(s *state.State) {
		s.Request.Saved = &v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotTaken, Path: "b/k", Revision: revision, Time: metav1.Time{Time: noon.Add(-ago)}}
		s.Request.SavedFor = noon.Add(-ago)
	}
}

// quorumIsLost: no quorum of the old members answers. The seed, which is the last member, serves.
func quorumIsLost(s *state.State) {
	seed := s.Members[len(s.Members)-1]
	noQuorum(s)
	s.Members[len(s.Members)-1] = seed
}

// waitingForQuorum: the operator has waited for 5 minutes.
func waitingForQuorum(s *state.State) {
	s.Waiting.Saw(Waits(*s, Plan(*s)), noon.Add(-restore.ExactPatience))
}

func notSaved(s *state.State) {
	s.Request.Saved = &v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotNotTaken, Message: "the store refuses it", Time: metav1.Time{Time: noon}}
	s.Request.SavedFor = noon
}

// A person asks for an exact safety snapshot because the writes of the last minutes must be found afterwards. If the snapshot is taken before the
// members refuse writes, those of its last seconds are in no snapshot at all.
func TestAnExactSafetySnapshotIsTakenBehindTheFence(t *testing.T) {
	given := func(step v1beta2.RestoreStep, changes ...change) state.State {
		return stateWith(append([]change{formed, members(3), storage("3.6.0"), restored(step), exact, aSeed(serving)}, changes...)...)
	}
	const seeding, switching = v1beta2.RestoreSeeding, v1beta2.RestoreSwitching
	adopt := steps.AdoptSeed{ClusterID: seedID, Incarnation: 2}
	planTests{
		"begins the switch without a snapshot":                       {given(seeding), steps.BeginSwitch{ClusterID: seedID, Revision: 1000000042}},
		"fences the members first":                                   {given(switching), steps.FenceWrites{ID: etcd.FenceID("uid-back")}},
		"asks for the snapshot behind the fence":                     {given(switching, fencedAt(50)), steps.AwaitSafetySnapshot{}},
		"waits for it":                                               {given(switching, fencedAt(50), safetyAsked(time.Minute)), restore.WaitForExact(stateWith(), state.RequeueStarting)},
		"waits for it although there is one from before":             {given(switching, fencedAt(50), safetyAsked(time.Minute), savedUpTo(40, time.Hour)), restore.WaitForExact(stateWith(), state.RequeueStarting)},
		"lets the seed take over when it has the last revision":      {given(switching, fencedAt(50), safetyAsked(time.Minute), savedUpTo(50, 0)), adopt},
		"takes one from before if nothing was written since":         {given(switching, fencedAt(50), savedUpTo(50, time.Hour)), adopt},
		"fails if it lacks a revision":                               {given(switching, fencedAt(50), safetyAsked(time.Minute), savedUpTo(49, 0)), steps.FailRestore{Message: "The safety snapshot ends at revision 49, but the old members acknowledged writes up to revision 50." + restore.OldContinue}},
		"fails if the store refuses it":                              {given(switching, fencedAt(50), safetyAsked(time.Minute), notSaved), steps.FailRestore{Message: "The exact safety snapshot could not be taken: the store refuses it." + restore.OldContinue}},
		"fails after 15 min":                                         {given(switching, fencedAt(50), safetyAsked(16*time.Minute)), steps.FailRestore{Message: "The exact safety snapshot was not taken within 15m0s. The EtcdRestore has the last failure. If it has none, check that restore-operator is running." + restore.OldContinue}},
		"lets members write while the seed does not serve":           {given(switching, fencedAt(50), safetyAsked(time.Minute), func(s *state.State) { s.Members[3].Serving = false }), steps.ReturnToSeeding{}},
		"returns if the quorum is lost before the fence":             {given(switching, quorumIsLost), steps.ReturnToSeeding{}},
		"fails if the members stopped before the fence":              {given(switching, quorumIsLost, with(0, withoutPod), with(1, withoutPod), with(2, withoutPod)), steps.FailRestore{Message: "The old members do not answer, so they could not be saved exactly." + restore.OldContinue}},
		"takes over a cluster that cannot be saved any more":         {given(switching, quorumIsLost, with(0, gone), with(1, gone), with(2, gone)), adopt},
		"lets members write again if the EtcdRestore is deleted":     {given(switching, fencedAt(50), safetyAsked(time.Minute), func(s *state.State) { s.Request = nil }), steps.ReturnToSeeding{}},
		"does not need the fence once the last revision is in store": {given(switching, quorumIsLost, savedUpTo(50, 0), func(s *state.State) { s.Restore.LastRevision = 50 }, with(0, withoutPod), with(1, withoutPod), with(2, withoutPod)), adopt},
	}.run(t)
	for name, test := range map[string]struct {
		s    state.State
		says string
	}{
		"etcd 3.5 holds no fence":               {given(seeding, runs("3.5.26")), "needs etcd 3.6.0, and a member runs 3.5.26"},
		"no quorum answers":                     {given(seeding, quorumIsLost), "waits for a quorum"},
		"no quorum has answered for 5 minutes":  {given(seeding, quorumIsLost, waitingForQuorum), "safetySnapshot: IfPossible"},
		"the seed has other users than members": {given(seeding, with(3, deniedBy(etcd.RefusedPassword))), "safetySnapshot: Required"},
	} {
		if said := steps.Describe(test.s, Plan(test.s)).Message; !strings.Contains(said, test.says) {
			t.Errorf("%s: the plan is %#v, and the status says: %s", name, Plan(test.s), said)
		}
	}
}

// If one of these is not recorded, the next attempt takes an earlier snapshot for the exact one, or a person does not find it.
func TestTheStatusOfAnExactSafetySnapshot(t *testing.T) {
	s := stateWith(formed, members(3), storage("3.6.0"), restored(v1beta2.RestoreSwitching), exact, aSeed(serving), fencedAt(50), safetyAsked(time.Minute), savedUpTo(50, 0))
	before := v1beta2.EtcdClusterStatus{Restore: s.Restore}
	if r := NewStatus(s, Plan(s), nil, *before.DeepCopy(), 1).Restore; r.SafetySnapshot != "b/k" || r.SafetyRevision != 50 || cmp.Diff(r.UnsavedRevisions, new(int64)) != "" {
		t.Errorf("after the switch the status has %+v", r)
	}
	if r := NewStatus(s, steps.ReturnToSeeding{}, nil, *before.DeepCopy(), 1).Restore; r.SeedReadyTime != nil || r.LastRevision != 0 {
		t.Errorf("after a return the next attempt finds %+v", r)
	}
}

// A cluster that is paused at that moment refuses writes until somebody resumes it. The status must say so.
func TestAPausedClusterSaysThatItsMembersRefuseWrites(t *testing.T) {
	s := stateWith(formed, members(3), storage("3.6.0"), restored(v1beta2.RestoreSwitching), exact, aSeed(serving), fencedAt(50), safetyAsked(time.Minute))
	s.Spec.Paused = true
	if said := steps.Describe(s, Plan(s)).Message; !strings.Contains(said, "refuse writes") {
		t.Errorf("the status says: %s", said)
	}
}

// The clock of the operator is an hour behind that of the API server. The answer of restore-operator must still count as the answer: otherwise clients
// cannot write until the limit of the wait, although the store has refused the snapshot at once.
func TestAnExactSafetySnapshotIsAnsweredWhileTheClocksDiffer(t *testing.T) {
	s := stateWith(formed, members(3), storage("3.6.0"), restored(v1beta2.RestoreSwitching), exact, aSeed(serving), fencedAt(50), safetyAsked(-time.Hour), notSaved)
	s.Request.SavedFor, s.Request.Saved.Time = s.Restore.SeedReadyTime.Time, *s.Restore.SeedReadyTime
	s.ServerAhead = time.Hour
	certificates.CorrectTimes(&s, &clock.Seen{})
	if step, is := Plan(s).(steps.FailRestore); !is {
		t.Errorf("the plan is %#v %+v", Plan(s), step)
	}
}

// A job disarms all alarms (etcdctl alarm disarm) after this pass looked, and clients write. The operator sets the fence again before the seed takes over,
// and etcd answers 60: these writes would be in no snapshot.
func TestAnExactTakeoverEndsIfMembersWroteSince(t *testing.T) {
	s := stateWith(formed, members(3), storage("3.6.0"), restored(v1beta2.RestoreSwitching), exact, aSeed(serving), fencedAt(50), safetyAsked(time.Minute), savedUpTo(50, 0))
	if _, is := Plan(s).(steps.AdoptSeed); !is || restore.WroteSince(s) {
		t.Fatalf("%+v", Plan(s))
	}
	s.FencedAt = 60 // as confirmFence sets it
	if !restore.WroteSince(s) {
		t.Error("the seed takes over")
	}
	s.FencedAt, s.Members[0].Revision = 0, 60 // the next pass
	if fail, is := Plan(s).(steps.FailRestore); !is {
		t.Errorf("the next pass does not end the restore: %T %+v", Plan(s), fail)
	}
}
