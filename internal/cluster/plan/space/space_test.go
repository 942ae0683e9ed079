package space_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

func TestPlanSpace(t *testing.T) {
	disarm := steps.DisarmAlarm{Alarm: etcd.Alarm{Kind: etcd.AlarmNoSpace, Member: 2}, Reason: v1beta2.ReasonNoSpace}
	words := "The space quota is used up, and etcd refuses writes. The database of member " + plantest.NameOf(0) + " has 100Mi, of which 95Mi are in use. "
	stuck := func(what string) steps.Wait {
		return steps.Wait{Reason: v1beta2.ReasonNoSpace, Message: words + what + " Reads and deletions still work.", Stalled: true}
	}
	const raise, raiseEnv = "or raise spec.etcd.quotaBackendBytes.", "or raise ETCD_QUOTA_BACKEND_BYTES in spec.pod.etcdEnv."
	freeing := steps.Wait{Reason: v1beta2.ReasonNoSpace, Message: "The space quota is used up, and etcd refuses writes. The members are freeing the compacted history."}
	plantest.Plans{
		"compacts all but 1000 revisions if the space quota is used up": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(100, 95)), steps.CompactHistory{Revision: 4000},
		},
		"keeps 1000 revisions below the lowest revision of all members": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(100, 95), plantest.With(2, func(m *state.Member) { m.Revision = 4500 })), steps.CompactHistory{Revision: 3500},
		},
		"compacts all history if keepRevisions is 0": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(100, 95), plantest.OnNoSpace(v1beta2.NoSpaceCompact, 0)), steps.CompactHistory{Revision: 5000},
		},
		"defragments without a compaction if the free space is enough": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(100, 40)), steps.DefragmentMember{Name: plantest.NameOf(1), Reason: v1beta2.ReasonNoSpace},
		},
		"waits up to 30 s until the members have freed the compacted history": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(100, 95), plantest.Compacted(4000, 10*time.Second)), freeing,
		},
		"waits at least 3 s after a compaction before it defragments": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(100, 79), plantest.Compacted(4000, time.Second)), freeing,
		},
		"defragments a follower when the compacted history is freed": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(100, 60), plantest.Compacted(4000, 4*time.Second)), steps.DefragmentMember{Name: plantest.NameOf(1), Reason: v1beta2.ReasonNoSpace},
		},
		"defragments one member if it still reports all space as in use 1 min after a compaction": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(100, 95), plantest.Compacted(4000, time.Minute)), steps.DefragmentMember{Name: plantest.NameOf(1), Reason: v1beta2.ReasonNoSpace},
		},
		"defragments the other members if the first defragmentation made room": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(100, 95), plantest.Compacted(4000, time.Minute), plantest.With(1, plantest.Uses(20, 20)), plantest.DefragmentedAgo(1, time.Second)),
			steps.DefragmentMember{Name: plantest.NameOf(2), Reason: v1beta2.ReasonNoSpace},
		},
		"defragments the second follower when the first has room": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(100, 60), plantest.Compacted(4000, 5*time.Second), plantest.With(1, plantest.Uses(60, 60)), plantest.DefragmentedAgo(1, time.Second)),
			steps.DefragmentMember{Name: plantest.NameOf(2), Reason: v1beta2.ReasonNoSpace},
		},
		"moves leadership before it defragments the leader": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(60, 60), plantest.With(0, plantest.Uses(100, 60)), plantest.Compacted(4000, 5*time.Second)),
			steps.MoveLeader{From: plantest.NameOf(0), To: 2, Name: plantest.NameOf(1)},
		},
		"defragments the only member": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(1), plantest.Full, plantest.Database(100, 60), plantest.Compacted(4000, 5*time.Second)), steps.DefragmentMember{Name: plantest.NameOf(0), Reason: v1beta2.ReasonNoSpace},
		},
		"disarms the alarm when all members have room": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(60, 60)), disarm,
		},
		"reports a used-up quota if a compaction and a defragmentation made no room": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(100, 95), plantest.Compacted(4000, time.Hour), plantest.DefragmentedAgo(1, time.Minute)),
			stuck("Compacting all but 1000 revisions does not make room. Delete keys, or lower spec.noSpace.keepRevisions (0 frees deleted keys at once), " + raise),
		},
		"reports a used-up quota if the history is shorter than keepRevisions": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(100, 95), plantest.OnNoSpace(v1beta2.NoSpaceCompact, 5000)),
			stuck("Compacting all but 5000 revisions does not make room. Delete keys, or lower spec.noSpace.keepRevisions (0 frees deleted keys at once), " + raise),
		},
		"compacts again if the revision has grown since the last compaction": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(100, 95), plantest.Compacted(3900, 2*time.Minute), plantest.DefragmentedAgo(1, time.Minute)), steps.CompactHistory{Revision: 4000},
		},
		"does not compact again within 20 s": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(100, 95), plantest.Compacted(3900, 15*time.Second)), freeing,
		},
		"compacts nothing if spec.noSpace.action is Defragment": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(100, 95), plantest.OnNoSpace(v1beta2.NoSpaceDefragment, 0)),
			stuck("Defragmentation alone does not make room. Set spec.noSpace.action to Compact, " + raise),
		},
		"changes nothing if spec.noSpace.action is Wait": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(100, 95), plantest.OnNoSpace(v1beta2.NoSpaceWait, 0)),
			stuck("Set spec.noSpace.action to Compact, " + raise + " You can also compact, defragment and disarm the alarm yourself."),
		},
		"does not defragment a member again within 2 min if that made no room": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(1), plantest.Full, plantest.Database(100, 79), plantest.OnNoSpace(v1beta2.NoSpaceDefragment, 0), plantest.DefragmentedAgo(0, time.Minute)),
			steps.Wait{
				Reason: v1beta2.ReasonNoSpace, Stalled: true,
				Message: "The space quota is used up, and etcd refuses writes. The database of member " + plantest.NameOf(0) + " has 100Mi, of which 79Mi are in use. Defragmentation alone does not make room. Set spec.noSpace.action to Compact, " + raise + " Reads and deletions still work.",
			},
		},
		"defragments again at once if history was compacted since": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(100, 95), plantest.Compacted(4000, 31*time.Second), plantest.DefragmentedAgo(1, 61*time.Second), plantest.DefragmentedAgo(2, 61*time.Second)),
			steps.DefragmentMember{Name: plantest.NameOf(1), Reason: v1beta2.ReasonNoSpace},
		},
		"does not defragment again within 2 min if history was compacted before": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(100, 79), plantest.Compacted(4000, time.Minute), plantest.DefragmentedAgo(0, 50*time.Second), plantest.DefragmentedAgo(1, 50*time.Second), plantest.DefragmentedAgo(2, 50*time.Second)),
			steps.Wait{
				Reason: v1beta2.ReasonNoSpace, Stalled: true,
				Message: "The space quota is used up, and etcd refuses writes. The database of member " + plantest.NameOf(0) + " has 100Mi, of which 79Mi are in use. Compacting all but 1000 revisions does not make room. Delete keys, or lower spec.noSpace.keepRevisions (0 frees deleted keys at once), " + raise + " Reads and deletions still work.",
			},
		},
		"uses the quota of the spec if the members do not report theirs": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.QuotaEnv("104857600"), plantest.Full, plantest.Database(90, 50), func(s *state.State) {
				for i := range s.Members {
					s.Members[i].DBQuota = 0
				}
			}), disarm,
		},
		"does not guess a quota that the spec takes from another source": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(1), plantest.QuotaEnv(""), plantest.Full, plantest.Database(95, 95), plantest.Compacted(4000, time.Hour), plantest.DefragmentedAgo(0, time.Minute), plantest.With(0, func(m *state.Member) { m.DBQuota = 0 })),
			steps.Wait{
				Reason: v1beta2.ReasonNoSpace, Stalled: true,
				Message: "The space quota is used up, and etcd refuses writes. The database of member " + plantest.NameOf(0) + " has 95Mi, of which 95Mi are in use. Compacting all but 1000 revisions does not make room. Delete keys, or lower spec.noSpace.keepRevisions (0 frees deleted keys at once), " + raiseEnv + " Reads and deletions still work.",
			},
		},
		"defragments no member while another one is starting": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(100, 40), plantest.With(2, plantest.Pod(state.PodStarting))),
			steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + plantest.NameOf(2) + " is starting."},
		},
		"scales down while the space quota is used up": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Size(1), plantest.Full, plantest.Database(100, 95)), steps.RemoveMember{ID: 3, Name: plantest.NameOf(2)},
		},
	}.Run(t, plan.Plan)
}

func TestWhatWasForgottenIsRememberedAsLongAsTheAlarmIsOn(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(100, 95))
	after := plan.NewStatus(s, steps.CompactHistory{Revision: 4000}, nil, v1beta2.EtcdClusterStatus{}, 1)
	if after.Space == nil || after.Space.CompactedRevision != 4000 || !after.Space.CompactedAt.Equal(ptr.To(metav1.NewTime(s.Now))) {
		t.Errorf("after the compaction: %+v", after.Space)
	}
	s.Space = after.Space
	if still := plan.NewStatus(s, steps.Done{}, nil, after, 1); still.Space == nil {
		t.Error("forgotten while the alarm is on")
	}
	s = plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Database(50, 50), plantest.Compacted(4000, 0))
	if over := plan.NewStatus(s, steps.Done{}, nil, after, 1); over.Space != nil {
		t.Errorf("after the alarm: %+v", over.Space)
	}
}

// The operator may wait 8 hours before it adds the next member. etcd must not refuse all writes for that time.
func TestSpaceIsReclaimedWhileNoMemberCanBeAdded(t *testing.T) {
	full := func(s *state.State) {
		for i := range s.Members {
			m := &s.Members[i]
			m.DBSize, m.DBSizeInUse, m.DBQuota, m.Revision = 100<<20, 10<<20, 100<<20, 5000
			m.Alarms = []etcd.Alarm{{Kind: etcd.AlarmNoSpace, Member: 1}}
		}
	}
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), full)
	if _, is := plan.Plan(s).(steps.DefragmentMember); !is {
		t.Fatalf("with all members the plan is %+v", plan.Plan(s))
	}
	for name, s := range map[string]state.State{
		"there are two of three voters, and the operator adds no member for 8 h":        plantest.StateWith(plantest.Formed, plantest.Members(2), full, plantest.Failures(7, time.Minute)),
		"an annotation asks for a replacement, and the operator adds no member for 8 h": plantest.StateWith(plantest.Formed, plantest.Members(3), full, plantest.Failures(7, time.Minute), plantest.Asks(state.Asked{Replace: []string{plantest.NameOf(1)}})),
		"there is no StorageClass": plantest.StateWith(plantest.Formed, plantest.Members(2), full, plantest.NoClass),
	} {
		if wait, waits := plan.Plan(s).(steps.Wait); waits {
			t.Errorf("%s: etcd refuses all writes, and the operator waits: %s: %s", name, wait.Reason, wait.Message)
		}
	}
}

// Otherwise a person whose writes fail corrects a Secret or a fence, and never reads of the space quota.
func TestTheStatusSaysThatWritesAreRefusedWhateverTheOperatorWaitsFor(t *testing.T) {
	full := func(s *state.State) {
		for i := range s.Members {
			s.Members[i].DBSize, s.Members[i].DBSizeInUse, s.Members[i].DBQuota = 100, 100, 100
			s.Members[i].Alarms = []etcd.Alarm{{Kind: etcd.AlarmNoSpace, Member: 1}}
		}
		s.Spec.NoSpace = &v1beta2.NoSpacePolicy{Action: v1beta2.NoSpaceWait}
	}
	for name, c := range map[string]plantest.Change{
		"a missing Secret for authentication, which is off": func(s *state.State) { s.Authentication.Problem = "Secret x is missing." },
		"a foreign learner":              plantest.Guest(plantest.WithoutVote),
		"a fence that would take quorum": plantest.Asks(state.Asked{Fence: []string{plantest.NameOf(0), plantest.NameOf(1)}}),
		"no other problem":               func(*state.State) {},
		"a member that refuses the operator: its user lacks the role root": plantest.With(1, plantest.DeniedBy(etcd.RefusedRole)),
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), full, c, plantest.With(0, plantest.OutOfService))
		s.Members[0].InService = !slices.Contains(s.Asked.Fence, plantest.NameOf(0))
		wait, _ := plan.Plan(s).(steps.Wait)
		status := plan.NewStatus(s, wait, nil, v1beta2.EtcdClusterStatus{}, 1)
		said := status.Reason
		for _, cond := range status.Conditions {
			said += cond.Message
		}
		if !strings.Contains(said, "quota") {
			t.Errorf("%s: nothing in the status says that etcd refuses writes: %s", name, wait.Reason)
		}
	}
}

// Members of 3.5 do not report their quota, and run with 100Mi until they are restarted. If the operator disarmed the alarm
// before that, the next write would raise it again, and no member would ever be restarted.
func TestARaisedQuotaIsRolledOutBeforeTheAlarmIsDisarmed(t *testing.T) {
	q := resource.MustParse("200Mi")
	for name, raise := range map[string]plantest.Change{
		"spec.etcd": func(s *state.State) { s.Spec.Etcd = &v1beta2.EtcdPolicy{QuotaBackendBytes: &q} },
		"ETCD_QUOTA_BACKEND_BYTES in spec.pod.etcdEnv": plantest.QuotaEnv("209715200"),
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.OfVersion("3.5.29"), plantest.Database(100, 95), plantest.Full, raise, plantest.Compacted(4000, time.Hour), plantest.DefragmentedAgo(0, time.Minute))
		for i := range s.Members {
			m := &s.Members[i]
			m.DBQuota, m.PodQuota, m.Version, m.PodImage, m.Outdated = 0, ptr.To(100*plantest.Mi), "3.5.29", s.Spec.Image(), true
		}
		s.KnownVersion = "3.5.29"
		if step, is := plan.Plan(s).(steps.DeletePod); !is || step.Name != plantest.NameOf(1) {
			t.Errorf("%s: the plan is %+v", name, plan.Plan(s))
		}
		for i := range s.Members {
			s.Members[i].Outdated, s.Members[i].PodQuota = false, ptr.To(200*plantest.Mi)
		}
		if _, is := plan.Plan(s).(steps.DisarmAlarm); !is {
			t.Errorf("%s: with the new quota the plan is %+v", name, plan.Plan(s))
		}
	}
}

// If a member starts with a quota below its size in use, its first write raises the alarm for all members.
func TestNoMemberIsRestartedWithAQuotaBelowWhatIsInUse(t *testing.T) {
	q := resource.MustParse("50Mi")
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Database(100, 80), plantest.With(2, plantest.Outdated), func(s *state.State) { s.Spec.Etcd = &v1beta2.EtcdPolicy{QuotaBackendBytes: &q} })
	wait, is := plan.Plan(s).(steps.Wait)
	if !is || !wait.Stalled || wait.Reason != v1beta2.ReasonNoSpace || !strings.Contains(wait.Message, "spec.etcd.quotaBackendBytes") {
		t.Errorf("the plan is %+v", plan.Plan(s))
	}
	for name, c := range map[string]plantest.Change{
		"less is in use":                      plantest.Database(100, 40),
		"the spec asks for the present quota": func(s *state.State) { q := resource.MustParse("100Mi"); s.Spec.Etcd.QuotaBackendBytes = &q },
		"the quota is raised":                 func(s *state.State) { q := resource.MustParse("1Gi"); s.Spec.Etcd.QuotaBackendBytes = &q },
	} {
		s := s
		s.Members, s.Spec.Etcd = slices.Clone(s.Members), s.Spec.Etcd.DeepCopy()
		c(&s)
		if _, is := plan.Plan(s).(steps.DeletePod); !is {
			t.Errorf("%s: the plan is %+v", name, plan.Plan(s))
		}
	}
}
