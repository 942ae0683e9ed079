package modes_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/modes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

func readOnly(s *state.State) { s.Spec.ReadOnly = true }

// refusing: the fence of spec.readOnly is on.
func refusing(s *state.State) { alsoFenced(string(s.UID))(s) }

// Without these, a read-only cluster takes writes, or one that should take writes again refuses them.
func TestPlanReadOnly(t *testing.T) {
	fence := steps.FenceWrites{ID: etcd.FenceID("uid-example")}
	switching := plantest.Restored(v1beta2.RestoreSwitching)
	fencedSeed := func(s *state.State) {
		s.Members[len(s.Members)-1].Alarms = []etcd.Alarm{{Kind: etcd.AlarmCorrupt, Member: state.ReadOnlyFence(*s)}}
	}
	plantest.Plans{
		"refuses writes": {plantest.StateWith(plantest.Formed, plantest.Members(3), readOnly), fence},
		"refuses writes before it starts a member":          {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.WithoutPod), readOnly), fence},
		"takes the fence back":                              {plantest.StateWith(plantest.Formed, plantest.Members(3), refusing), steps.UnfenceWrites{ID: fence.ID}},
		"keeps the fence, and takes back that of a restore": {plantest.StateWith(plantest.Formed, plantest.Members(3), readOnly, refusing, alsoFenced("uid-back")), steps.UnfenceWrites{ID: etcd.FenceID("uid-back")}},
		"replaces the members of a read-only cluster": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, func(m *state.Member) {
				m.Pod, m.Volume, m.Serving, m.Answers, m.PodReady = state.PodNone, state.VolumeNone, false, false, false
			}), readOnly, refusing),
			steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: state.LostData},
		},
		"fences the seed before it is the cluster": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), switching, plantest.Asked, plantest.ASeed(plantest.Serving), readOnly, refusing, alsoFenced("uid-back")), steps.FenceWrites{ID: fence.ID, Seed: plantest.SeedName},
		},
		"fences the seed before it is the cluster, if no old member is left": {
			plantest.StateWith(plantest.Formed, plantest.NoQuorum, switching, plantest.Asked, plantest.ASeed(plantest.Serving), readOnly), steps.FenceWrites{ID: fence.ID, Seed: plantest.SeedName},
		},
		"adopts a fenced seed": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), switching, plantest.Asked, plantest.ASeed(plantest.Serving), readOnly, refusing, alsoFenced("uid-back"), fencedSeed), steps.AdoptSeed{ClusterID: plantest.SeedID, Incarnation: 2},
		},
	}.Run(t, plan.Plan)
}

// Without this, a read-only cluster is brought to a version in which some writes pass the fence.
func TestAReadOnlyClusterIsNotBroughtBelow36(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Storage("3.6.0"), readOnly, refusing, plantest.OfVersion("3.5.35"))
	if step, is := plan.Plan(s).(steps.Wait); !is || step.Reason != v1beta2.ReasonVersionNotSupported || !strings.Contains(step.Message, "spec.readOnly") {
		t.Errorf("the plan is %#v", plan.Plan(s))
	}
}

// Without this, the status calls an etcd read-only that takes some writes, and its members fail their liveness probes behind the fence.
func TestAnOldEtcdBehindAFenceTakesWritesAgain(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Runs("3.5.26"), readOnly, refusing)
	if step := plan.Plan(s); step != steps.Step(steps.UnfenceWrites{ID: state.ReadOnlyFence(s)}) {
		t.Errorf("the plan is %#v", step)
	}
	for name, s := range map[string]state.State{
		"the first of three runs 3.5": plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Runs("3.6.16"), readOnly, refusing, plantest.OfVersion("3.5.26"), plantest.With(1, plantest.WithImage("3.5.26"))),
		"all run 3.5":                 s,
	} {
		if c := readOnlyCondition(t, s, v1beta2.EtcdClusterStatus{}); c == nil || c.Status == metav1.ConditionTrue {
			t.Errorf("%s: the condition ReadOnly is %+v", name, c)
		}
	}
}

// A read-only cluster has a voter that the operator did not add, and one of its own members is down, so the operator does not know the version of all
// data. The status said that clients can write, although etcd refused their writes.
func TestTheStatusOfAClusterBehindAFenceIsReadOnlyBesideForeignMembers(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.ForeignVoters(1), plantest.Storage("3.6.0"), readOnly, refusing, plantest.With(1, plantest.Silent, func(m *state.Member) { m.StorageVersion = "" }))
	if c := readOnlyCondition(t, s, v1beta2.EtcdClusterStatus{}); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("the leader reports the fence, and the condition is %+v", c)
	}
	if step := restore.TakeFenceBack(s); step != nil {
		t.Errorf("the fence is taken back: %T", step)
	}
	plantest.With(1, plantest.WithImage("3.5.26"), func(m *state.Member) { m.Version = "" })(&s)
	if c := readOnlyCondition(t, s, v1beta2.EtcdClusterStatus{}); c == nil || c.Status == metav1.ConditionTrue {
		t.Errorf("the member that is down may run an etcd that ignores the fence, and the condition is %+v", c)
	}
}

// alsoFenced: one more fence is on.
func alsoFenced(uid string) plantest.Change {
	return func(s *state.State) {
		for i := range s.Members {
			if m := &s.Members[i]; m.Incarnation == s.Incarnation {
				m.Alarms = append(m.Alarms, etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: etcd.FenceID(types.UID(uid))})
			}
		}
		if s.Switching() && s.Restore.UID == types.UID(uid) {
			s.Restore.LastRevision = 1
		}
	}
}

// Without this, the status says that writes are refused while an old etcd takes some.
func TestAnOldEtcdIsNotCalledReadOnly(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Runs("3.5.35"), readOnly)
	step, is := plan.Plan(s).(steps.Wait)
	if !is || step.Reason != v1beta2.ReasonReadOnlyNotSupported || !step.Stalled {
		t.Fatalf("the plan is %#v", plan.Plan(s))
	}
	c := readOnlyCondition(t, s, v1beta2.EtcdClusterStatus{})
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != v1beta2.ReasonReadOnlyNotSupported {
		t.Errorf("the condition ReadOnly is %+v", c)
	}
}

// Without this, people cannot see up to which revision they may copy a cluster.
func TestTheStatusNamesTheLastRevision(t *testing.T) {
	revision := func(s *state.State) {
		for i := range s.Members {
			s.Members[i].Revision = 41
		}
	}
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), readOnly, refusing, revision)
	before := plan.NewStatus(s, plan.Plan(s), nil, v1beta2.EtcdClusterStatus{}, 1)
	if c := meta.FindStatusCondition(before.Conditions, v1beta2.ConditionReadOnly); before.LastRevision != 41 || c == nil || c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "41") {
		t.Fatalf("last revision %d, condition %+v", before.LastRevision, c)
	}
	if c := meta.FindStatusCondition(before.Conditions, v1beta2.ConditionReady); c.Status != metav1.ConditionTrue || c.Reason != v1beta2.ReasonReadOnly {
		t.Errorf("Ready is %+v", c)
	}
	silent := plantest.StateWith(plantest.Formed, readOnly, plantest.NoQuorum)
	if after := plan.NewStatus(silent, plan.Plan(silent), nil, before, 1); after.LastRevision != 41 || !meta.IsStatusConditionTrue(after.Conditions, v1beta2.ConditionReadOnly) {
		t.Errorf("while no member answers: last revision %d, %+v", after.LastRevision, after.Conditions)
	}
	writable := plantest.StateWith(plantest.Formed, plantest.Members(3), revision)
	if after := plan.NewStatus(writable, plan.Plan(writable), nil, before, 2); after.LastRevision != 0 || meta.FindStatusCondition(after.Conditions, v1beta2.ConditionReadOnly) != nil {
		t.Errorf("after the fence: last revision %d, %+v", after.LastRevision, after.Conditions)
	}
}

func readOnlyCondition(t *testing.T, s state.State, before v1beta2.EtcdClusterStatus) *metav1.Condition {
	t.Helper()
	status := plan.NewStatus(s, plan.Plan(s), nil, before, 1)
	return meta.FindStatusCondition(status.Conditions, v1beta2.ConditionReadOnly)
}

// Without this, clients of a read-only cluster lose their reads, because the Pods of an earlier operator are not ready under a fence.
func TestTheServiceSelectsUnreadyPodsOfAnEarlierOperator(t *testing.T) {
	earlier := func(s *state.State) {
		for i := range s.Members {
			s.Members[i].ProbesAlarm = true
		}
	}
	unready := func(s *state.State) { s.Members[0].PodReady = false }
	selects := func(s *state.State) { s.Services.ClientUnready = true }
	for name, test := range map[string]struct {
		s    state.State
		want bool
	}{
		"read-only":                                {plantest.StateWith(plantest.Formed, plantest.Members(3), earlier, readOnly), true},
		"read-only with Pods of this version":      {plantest.StateWith(plantest.Formed, plantest.Members(3), readOnly), false},
		"writable":                                 {plantest.StateWith(plantest.Formed, plantest.Members(3), earlier), false},
		"the fence is still on":                    {plantest.StateWith(plantest.Formed, plantest.Members(3), earlier, refusing, selects), true},
		"writable, and Pods are not yet ready":     {plantest.StateWith(plantest.Formed, plantest.Members(3), earlier, unready, selects), true},
		"writable, and all Pods are ready again":   {plantest.StateWith(plantest.Formed, plantest.Members(3), earlier, selects), false},
		"writable, and a Pod is not ready at last": {plantest.StateWith(plantest.Formed, plantest.Members(3), earlier, unready), false},
	} {
		if got := state.ServesUnready(test.s); got != test.want {
			t.Errorf("%s: the Service selects unready Pods: %t, want %t", name, got, test.want)
		}
	}
	step, is := plan.Plan(plantest.StateWith(plantest.Formed, plantest.Members(3), earlier, readOnly)).(steps.ApplyServices)
	if !is || !step.Unready {
		t.Errorf("the Service is not applied before the fence: %#v", step)
	}
}

// Without this, all members of an earlier operator count as down while a fence is on, and are replaced after a while. Or one that is silent for a
// second is replaced at once, because its Pod has not been ready since the fence.
func TestReadinessBehindAFence(t *testing.T) {
	hourAgo, now := plantest.Noon.Add(-time.Hour), plantest.Noon
	notReady := func(m *state.Member) { m.ProbesAlarm, m.PodReady, m.UnreadySince = true, false, hourAgo }
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, notReady), plantest.With(1, notReady, func(m *state.Member) { m.Serving, m.SilentSince = false, now }), plantest.With(2, notReady, func(m *state.Member) { m.Beside = "proxy" }), readOnly, refusing)
	modes.LookBehindFences(&s)
	if m := s.Members[0]; !m.PodReady || !m.UnreadySince.IsZero() {
		t.Errorf("a member that serves is not ready: %+v", m)
	}
	if m := s.Members[1]; m.PodReady || !m.UnreadySince.Equal(now) {
		t.Errorf("a silent member is ready %t, and unready since %s", m.PodReady, m.UnreadySince)
	}
	if s.Members[2].PodReady {
		t.Error("a container beside etcd that is not ready is overlooked")
	}
	real := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, notReady), plantest.Accused(2))
	modes.LookBehindFences(&real)
	if real.Members[0].PodReady {
		t.Error("a real alarm counts as a fence")
	}
}

// switchedOver: an EtcdBackup has fenced the cluster that has this ID.
func switchedOver(cluster etcd.ID) plantest.Change {
	return func(s *state.State) {
		for i := range s.Members {
			m := &s.Members[i]
			m.Alarms = append(m.Alarms, etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: etcd.SwitchoverID(cluster, "bucket/archive", "one")})
		}
	}
}

// A standby became the cluster, and the source took writes again. Both had other writes at the same revisions. A fence that a snapshot has is of another
// cluster: a restored cluster would never take a write.
func TestTheFenceOfASwitchoverIsKeptInItsClusterOnly(t *testing.T) {
	own, err := strconv.ParseUint(plantest.StateWith(plantest.Formed, plantest.Members(3)).ClusterID, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	kept := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Storage("3.6.0"), switchedOver(etcd.ID(own)))
	if step := restore.TakeFenceBack(kept); step != nil {
		t.Errorf("the fence of the switchover is taken back: %v", step)
	}
	if c := readOnlyCondition(t, kept, v1beta2.EtcdClusterStatus{}); c == nil || c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "switchover") {
		t.Errorf("the condition ReadOnly is %+v", c)
	}
	if step := plan.Plan(plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Storage("3.6.0"), switchedOver(etcd.ID(own)), readOnly)); step != steps.Step(steps.FenceWrites{ID: state.ReadOnlyFence(kept)}) {
		t.Errorf("spec.readOnly has no fence of its own, so the end of the switchover ends it, too: %v", step)
	}
	if step := restore.TakeFenceBack(plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Storage("3.6.0"), switchedOver(etcd.ID(own+1)))); step == nil {
		t.Error("the fence from the snapshot of another cluster is kept")
	}
}
