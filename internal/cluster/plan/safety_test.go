package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// The old members serve until the switch. Without a safety snapshot, their last writes exist only in volumes that are deleted
// later.
func TestTheOldDataIsSavedBeforeTheSwitch(t *testing.T) {
	given := func(policy v1beta2.SafetySnapshotPolicy, changes ...change) state.State {
		s := stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving))
		s.Request.Safety = policy
		for _, c := range changes {
			c(&s)
		}
		return s
	}
	readySince := func(ago time.Duration) change {
		return func(s *state.State) { s.Restore.SeedReadyTime = &metav1.Time{Time: noon.Add(-ago)} }
	}
	saved := func(result v1beta2.SafetySnapshotResult) change {
		return func(s *state.State) {
			s.Request.Saved = &v1beta2.SafetySnapshotStatus{Result: result, Path: "b/k", Message: "no quorum", Time: metav1.Time{Time: noon}}
			s.Request.SavedFor = noon
		}
	}
	savedBefore := func(ago time.Duration) change {
		return func(s *state.State) {
			saved("Taken")(s)
			s.Request.Saved.Time.Time, s.Request.SavedFor = noon.Add(-ago), noon.Add(-ago)
		}
	}
	toSwitch := steps.BeginSwitch{ClusterID: seedID, Revision: 1000000042}
	wait := steps.Wait{Reason: v1beta2.ReasonRestoring, Message: state.AwaitsSafetySnapshot, Requeue: state.RequeueStarting, Limit: restore.SafetyAge}
	const ifPossible, required = v1beta2.SafetySnapshotIfPossible, v1beta2.SafetySnapshotRequired
	for name, test := range map[string]struct {
		state state.State
		want  steps.Step
	}{
		"requests a safety snapshot when the seed is ready":                               {given(ifPossible), steps.AwaitSafetySnapshot{}},
		"waits until the safety snapshot is taken":                                        {given(ifPossible, readySince(time.Minute)), wait},
		"begins the switch when the safety snapshot is taken":                             {given(required, readySince(time.Minute), saved("Taken")), toSwitch},
		"begins the switch if an optional safety snapshot could not be taken":             {given(ifPossible, readySince(time.Minute), saved("NotTaken")), toSwitch},
		"begins the switch if restore-operator does not answer for 15 min":                {given(ifPossible, readySince(16*time.Minute)), toSwitch},
		"requests a safety snapshot again if the request is 1 h old":                      {given(ifPossible, readySince(time.Hour)), steps.AwaitSafetySnapshot{}},
		"fails if a required safety snapshot could not be taken":                          {given(required, readySince(time.Minute), saved("NotTaken")), steps.FailRestore{Message: "The safety snapshot is required and could not be taken: no quorum. The cluster was not changed."}},
		"begins the switch without a safety snapshot if the spec skips it":                {given(""), toSwitch},
		"begins the switch with a safety snapshot whose request is not recorded":          {given(ifPossible, saved("Taken")), toSwitch},
		"requests another safety snapshot if the last one is 3 h old":                     {given(required, readySince(3*time.Hour), savedBefore(3*time.Hour)), steps.AwaitSafetySnapshot{}},
		"waits for another safety snapshot if the last one is 3 h old":                    {given(required, readySince(time.Minute), savedBefore(3*time.Hour)), wait},
		"begins the switch with a safety snapshot that is 14 min old":                     {given(required, readySince(14*time.Minute), savedBefore(14*time.Minute)), toSwitch},
		"begins the switch with an old safety snapshot if no new one is taken for 15 min": {given(ifPossible, readySince(16*time.Minute), savedBefore(3*time.Hour)), toSwitch},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Plan(test.state)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	unformed := given(ifPossible)
	unformed.ClusterID = ""
	if step := restore.SafetySnapshot(unformed); step != nil {
		t.Errorf("a cluster that has never formed has no data, got %+v", step)
	}
	if fail, is := Plan(given(required, readySince(time.Hour))).(steps.FailRestore); !is || !strings.Contains(fail.Message, "not taken within 15m0s") {
		t.Errorf("a required one that restore-operator never takes: %+v", fail)
	}
}

// Without this, a restore can stop the members hours after its required safety snapshot, for example because the cluster was
// paused. The writes of these hours are then lost.
func TestASwitchNeedsASafetySnapshotThatIsRecent(t *testing.T) {
	s := stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving))
	s.Request.Safety = v1beta2.SafetySnapshotRequired
	ago := noon.Add(-3 * time.Hour)
	s.Restore.SeedReadyTime = &metav1.Time{Time: ago}
	s.Request.Saved = &v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotTaken, Path: "b/k", Revision: 42, Time: metav1.Time{Time: ago}}
	s.Request.SavedFor = ago
	if step, is := Plan(s).(steps.BeginSwitch); is {
		t.Errorf("the members are stopped with a required safety snapshot that lacks the writes of 3 hours: %+v", step)
	}
	s.Restore = NewStatus(s, steps.AwaitSafetySnapshot{}, nil, v1beta2.EtcdClusterStatus{Restore: s.Restore}, 1).Restore
	if step, is := Plan(s).(steps.Wait); !is {
		t.Errorf("the operator asks for another one in each pass: %+v", step)
	}
	s.Now = s.Now.Add(time.Hour)
	if fail, is := Plan(s).(steps.FailRestore); !is || !strings.Contains(fail.Message, "The cluster was not changed") {
		t.Errorf("restore-operator takes no other one, and the operator waits without end: %+v", Plan(s))
	}
}

// Without this, a cluster that is paused after the switch was recorded loses the writes of the pause. The old members acknowledge
// them, and no snapshot saves them before the members stop.
func TestASwitchThatWasHeldUpIsCheckedAgain(t *testing.T) {
	held := func(changes ...change) state.State {
		s := stateWith(formed, members(3), restored(v1beta2.RestoreSwitching), asked, aSeed(serving))
		s.Request.Safety = v1beta2.SafetySnapshotRequired
		for _, c := range changes {
			c(&s)
		}
		return s
	}
	saved := func(ago time.Duration) change {
		return func(s *state.State) {
			at := metav1.Time{Time: noon.Add(-ago)}
			s.Restore.SeedReadyTime = &at
			s.Request.Saved = &v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotTaken, Path: "b/k", Revision: 42, Time: at}
			s.Request.SavedFor = at.Time
		}
	}
	overtaken := func(s *state.State) {
		s.Restore.RevisionBump = 10
		s.Members[0].Revision = 1000000042
	}
	recorded := func(s *state.State) { s.Restore.RevisionBump, s.Restore.Revision = 10, 1000000042 }
	stop, fence := steps.StopMembers{Except: 2}, steps.FenceWrites{ID: etcd.FenceID("uid-back")}
	unanswered := func(m *state.Member) { m.Answers, m.Serving, m.SilentSince = false, false, noon.Add(-time.Minute) }
	each := func(what func(*state.Member)) change {
		return func(s *state.State) {
			s.MembershipKnown = false
			for i := range 3 {
				what(&s.Members[i])
			}
		}
	}
	ifPossible := func(asked time.Duration, saved *v1beta2.SafetySnapshotStatus) change {
		return func(s *state.State) {
			at := metav1.Time{Time: noon.Add(-asked)}
			s.Restore.SeedReadyTime = &at
			s.Request.Safety, s.Request.Saved = v1beta2.SafetySnapshotIfPossible, saved
			if saved != nil {
				s.Request.SavedFor = saved.Time.Time
			}
		}
	}
	notTaken := func(ago time.Duration) *v1beta2.SafetySnapshotStatus {
		return &v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotNotTaken, Time: metav1.Time{Time: noon.Add(-ago)}}
	}
	unreached, lostQuorum := each(unanswered), each(func(m *state.Member) { unanswered(m); m.PodReady = false })
	refusing := each(func(m *state.Member) { m.Serving, m.Guarded = false, true })
	for name, test := range map[string]struct {
		state state.State
		want  steps.Step
	}{
		"fences the members if restore-operator has not answered for 20 min":          {held(ifPossible(20*time.Minute, nil)), fence},
		"returns to seeding if restore-operator has not answered for 3 h":             {held(ifPossible(3*time.Hour, nil)), steps.ReturnToSeeding{}},
		"fences the members if a safety snapshot could not be taken 1 min ago":        {held(ifPossible(20*time.Minute, notTaken(time.Minute))), fence},
		"returns to seeding if a safety snapshot could not be taken 3 h ago":          {held(ifPossible(3*time.Hour, notTaken(3*time.Hour))), steps.ReturnToSeeding{}},
		"fences the members if the safety snapshot is 1 min old":                      {held(saved(time.Minute)), fence},
		"returns to seeding if the safety snapshot is 3 h old":                        {held(saved(3 * time.Hour)), steps.ReturnToSeeding{}},
		"returns to seeding if clients have reached the revision of the seed":         {held(saved(time.Minute), overtaken), steps.ReturnToSeeding{}},
		"does not compare the seed with its own revision":                             {held(saved(time.Minute), recorded), fence},
		"fences the others if a quorum is already stopping":                           {held(saved(3*time.Hour), with(0, pod(state.PodDeleting)), with(1, pod(state.PodDeleting))), fence},
		"returns to seeding if only one of three members has no Pod":                  {held(saved(3*time.Hour), with(0, withoutPod)), steps.ReturnToSeeding{}},
		"returns to seeding if its EtcdRestore is deleted":                            {held(saved(time.Minute), func(s *state.State) { s.Request = nil }), steps.ReturnToSeeding{}},
		"returns to seeding a third time":                                             {held(saved(3*time.Hour), func(s *state.State) { s.Restore.Returns = 2 }), steps.ReturnToSeeding{}},
		"returns to seeding if no member answers, but the Pods are ready":             {held(saved(3*time.Hour), unreached), steps.ReturnToSeeding{}},
		"returns to seeding if authentication refuses the operator":                   {held(saved(3*time.Hour), refusing), steps.ReturnToSeeding{}},
		"stops the members if quorum is lost, even if the safety snapshot is 3 h old": {held(saved(3*time.Hour), lostQuorum), stop},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Plan(test.state)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	for name, s := range map[string]state.State{"no answer": held(ifPossible(3*time.Hour, nil)), "not taken": held(ifPossible(3*time.Hour, notTaken(3*time.Hour)))} {
		s.Restore.Step = v1beta2.RestoreSeeding
		if step, is := Plan(s).(steps.AwaitSafetySnapshot); !is {
			t.Errorf("%s: after a pause of hours the operator does not ask for a safety snapshot again: %+v", name, step)
		}
	}
	s := held(saved(3 * time.Hour))
	s.Restore = NewStatus(s, steps.ReturnToSeeding{}, nil, v1beta2.EtcdClusterStatus{Restore: s.Restore}, 1).Restore
	if step, is := Plan(s).(steps.AwaitSafetySnapshot); !is {
		t.Errorf("after it has returned, the operator does not ask for another safety snapshot: %+v", step)
	}
	if s.Restore.Returns != 1 {
		t.Errorf("it has returned %d times", s.Restore.Returns)
	}
	s.Restore.Returns = 3
	if fail, is := Plan(s).(steps.FailRestore); !is || !strings.Contains(fail.Message, "held up 3 times") {
		t.Errorf("a switch that is held up again and again continues: %+v", Plan(s))
	}
	s.Restore.RevisionBump, s.Members[0].Revision = 10, 1000000042
	if fail, is := Plan(s).(steps.FailRestore); !is || !strings.Contains(fail.Message, "larger spec.revisionBump") {
		t.Errorf("the advice for a seed that was overtaken is hidden: %+v", Plan(s))
	}
	s.Restore.RevisionBump, s.Restore.Returns = 0, 1
	gone := s
	gone.Request = nil
	if step, is := Plan(gone).(steps.FailRestore); !is {
		t.Errorf("a restore that was deleted before the members stopped continues: %+v", step)
	}
	s.Request.Safety = ""
	if step, is := Plan(s).(steps.BeginSwitch); !is {
		t.Errorf("a restore without a safety snapshot does not switch again: %+v", step)
	}
}

func TestTheStatusRemembersTheSafetySnapshotAfterItsRestoreIsDeleted(t *testing.T) {
	s := stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving))
	s.Request.Saved = &v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotTaken, Path: "b/k"}
	status := NewStatus(s, steps.AwaitSafetySnapshot{}, nil, v1beta2.EtcdClusterStatus{}, 1)
	if !status.Restore.SeedReadyTime.Time.Equal(noon) {
		t.Errorf("the seed was ready at %v", status.Restore.SeedReadyTime)
	}
	s.Restore = NewStatus(s, steps.BeginSwitch{ClusterID: seedID}, nil, status, 1).Restore
	s.Request = nil
	past := NewStatus(s, steps.AdoptSeed{ClusterID: seedID, Incarnation: 2}, nil, status, 1).PastRestores
	if len(past) != 1 || past[0].SafetySnapshot != "b/k" {
		t.Errorf("the past restores are %+v", past)
	}
}

// The EtcdRestore lost its status, and a later safety snapshot could not be taken. The status then lost the path of the copy of the
// old data.
func TestTheStatusKeepsThePathOfTheSafetySnapshot(t *testing.T) {
	s := stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving))
	s.Restore.SafetySnapshot = "b/k"
	s.Request.Saved = &v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotNotTaken}
	if got := NewStatus(s, steps.BeginSwitch{ClusterID: seedID}, nil, v1beta2.EtcdClusterStatus{}, 1).Restore.SafetySnapshot; got != "b/k" {
		t.Errorf("the path is %q", got)
	}
}
