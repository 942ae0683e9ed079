package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

const mi = int64(1) << 20

// database gives every member a database file and a size in use, in MiB, a quota of 100 MiB, and revision 5000.
func database(file, used int64) change {
	return func(s *state.State) {
		for i := range s.Members {
			uses(file, used)(&s.Members[i])
		}
	}
}

func uses(file, used int64) func(*state.Member) {
	return func(m *state.Member) { m.DBSize, m.DBSizeInUse, m.DBQuota, m.Revision = file*mi, used*mi, 100*mi, 5000 }
}

// full: a NOSPACE alarm is on for the second member.
func full(s *state.State) {
	for i := range s.Members {
		s.Members[i].Alarms = []etcd.Alarm{{Kind: etcd.AlarmNoSpace, Member: 2}}
	}
}

// compacted: the operator compacted to a revision that long ago.
func compacted(revision int64, ago time.Duration) change {
	return func(s *state.State) {
		s.Space = &v1beta2.SpaceStatus{CompactedRevision: revision, CompactedAt: ptr.To(metav1.NewTime(s.Now.Add(-ago)))}
	}
}

func defragmentedAgo(i int, ago time.Duration) change {
	return func(s *state.State) {
		if s.Defragmented == nil {
			s.Defragmented = map[string]time.Time{}
		}
		s.Defragmented[nameOf(i)] = s.Now.Add(-ago)
	}
}

func onNoSpace(action v1beta2.NoSpaceAction, keep int64) change {
	return func(s *state.State) { s.Spec.NoSpace = &v1beta2.NoSpacePolicy{Action: action, KeepRevisions: &keep} }
}

func quotaEnv(value string) change {
	return policy(v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: "ETCD_QUOTA_BACKEND_BYTES", Value: value}}})
}

func TestPlanSpace(t *testing.T) {
	disarm := steps.DisarmAlarm{Alarm: etcd.Alarm{Kind: etcd.AlarmNoSpace, Member: 2}, Reason: v1beta2.ReasonNoSpace}
	words := "The space quota is used up, and etcd refuses writes. The database of member " + nameOf(0) + " has 100Mi, of which 95Mi are in use. "
	stuck := func(what string) steps.Wait {
		return steps.Wait{Reason: v1beta2.ReasonNoSpace, Message: words + what + " Reads and deletions still work.", Stalled: true}
	}
	const raise, raiseEnv = "or raise spec.etcd.quotaBackendBytes.", "or raise ETCD_QUOTA_BACKEND_BYTES in spec.pod.etcdEnv."
	freeing := steps.Wait{Reason: v1beta2.ReasonNoSpace, Message: "The space quota is used up, and etcd refuses writes. The members are freeing the compacted history."}
	planTests{
		"compacts all but 1000 revisions if the space quota is used up": {
			stateWith(formed, members(3), full, database(100, 95)), steps.CompactHistory{Revision: 4000},
		},
		"keeps 1000 revisions below the lowest revision of all members": {
			stateWith(formed, members(3), full, database(100, 95), with(2, func(m *state.Member) { m.Revision = 4500 })), steps.CompactHistory{Revision: 3500},
		},
		"compacts all history if keepRevisions is 0": {
			stateWith(formed, members(3), full, database(100, 95), onNoSpace(v1beta2.NoSpaceCompact, 0)), steps.CompactHistory{Revision: 5000},
		},
		"defragments without a compaction if the free space is enough": {
			stateWith(formed, members(3), full, database(100, 40)), steps.DefragmentMember{Name: nameOf(1), Reason: v1beta2.ReasonNoSpace},
		},
		"waits up to 30 s until the members have freed the compacted history": {
			stateWith(formed, members(3), full, database(100, 95), compacted(4000, 10*time.Second)), freeing,
		},
		"waits at least 3 s after a compaction before it defragments": {
			stateWith(formed, members(3), full, database(100, 79), compacted(4000, time.Second)), freeing,
		},
		"defragments a follower when the compacted history is freed": {
			stateWith(formed, members(3), full, database(100, 60), compacted(4000, 4*time.Second)), steps.DefragmentMember{Name: nameOf(1), Reason: v1beta2.ReasonNoSpace},
		},
		"defragments one member if it still reports all space as in use 1 min after a compaction": {
			stateWith(formed, members(3), full, database(100, 95), compacted(4000, time.Minute)), steps.DefragmentMember{Name: nameOf(1), Reason: v1beta2.ReasonNoSpace},
		},
		"defragments the other members if the first defragmentation made room": {
			stateWith(formed, members(3), full, database(100, 95), compacted(4000, time.Minute), with(1, uses(20, 20)), defragmentedAgo(1, time.Second)),
			steps.DefragmentMember{Name: nameOf(2), Reason: v1beta2.ReasonNoSpace},
		},
		"defragments the second follower when the first has room": {
			stateWith(formed, members(3), full, database(100, 60), compacted(4000, 5*time.Second), with(1, uses(60, 60)), defragmentedAgo(1, time.Second)),
			steps.DefragmentMember{Name: nameOf(2), Reason: v1beta2.ReasonNoSpace},
		},
		"moves leadership before it defragments the leader": {
			stateWith(formed, members(3), full, database(60, 60), with(0, uses(100, 60)), compacted(4000, 5*time.Second)),
			steps.MoveLeader{From: nameOf(0), To: 2, Name: nameOf(1)},
		},
		"defragments the only member": {
			stateWith(formed, members(1), size(1), full, database(100, 60), compacted(4000, 5*time.Second)), steps.DefragmentMember{Name: nameOf(0), Reason: v1beta2.ReasonNoSpace},
		},
		"disarms the alarm when all members have room": {
			stateWith(formed, members(3), full, database(60, 60)), disarm,
		},
		"reports a used-up quota if a compaction and a defragmentation made no room": {
			stateWith(formed, members(3), full, database(100, 95), compacted(4000, time.Hour), defragmentedAgo(1, time.Minute)),
			stuck("Compacting all but 1000 revisions does not make room. Delete keys, or lower spec.noSpace.keepRevisions (0 frees deleted keys at once), " + raise),
		},
		"reports a used-up quota if the history is shorter than keepRevisions": {
			stateWith(formed, members(3), full, database(100, 95), onNoSpace(v1beta2.NoSpaceCompact, 5000)),
			stuck("Compacting all but 5000 revisions does not make room. Delete keys, or lower spec.noSpace.keepRevisions (0 frees deleted keys at once), " + raise),
		},
		"compacts again if the revision has grown since the last compaction": {
			stateWith(formed, members(3), full, database(100, 95), compacted(3900, 2*time.Minute), defragmentedAgo(1, time.Minute)), steps.CompactHistory{Revision: 4000},
		},
		"does not compact again within 20 s": {
			stateWith(formed, members(3), full, database(100, 95), compacted(3900, 15*time.Second)), freeing,
		},
		"compacts nothing if spec.noSpace.action is Defragment": {
			stateWith(formed, members(3), full, database(100, 95), onNoSpace(v1beta2.NoSpaceDefragment, 0)),
			stuck("Defragmentation alone does not make room. Set spec.noSpace.action to Compact, " + raise),
		},
		"changes nothing if spec.noSpace.action is Wait": {
			stateWith(formed, members(3), full, database(100, 95), onNoSpace(v1beta2.NoSpaceWait, 0)),
			stuck("Set spec.noSpace.action to Compact, " + raise + " You can also compact, defragment and disarm the alarm yourself."),
		},
		"does not defragment a member again within 2 min if that made no room": {
			stateWith(formed, members(1), size(1), full, database(100, 79), onNoSpace(v1beta2.NoSpaceDefragment, 0), defragmentedAgo(0, time.Minute)),
			steps.Wait{
				Reason: v1beta2.ReasonNoSpace, Stalled: true,
				Message: "The space quota is used up, and etcd refuses writes. The database of member " + nameOf(0) + " has 100Mi, of which 79Mi are in use. Defragmentation alone does not make room. Set spec.noSpace.action to Compact, " + raise + " Reads and deletions still work.",
			},
		},
		"defragments again at once if history was compacted since": {
			stateWith(formed, members(3), full, database(100, 95), compacted(4000, 31*time.Second), defragmentedAgo(1, 61*time.Second), defragmentedAgo(2, 61*time.Second)),
			steps.DefragmentMember{Name: nameOf(1), Reason: v1beta2.ReasonNoSpace},
		},
		"does not defragment again within 2 min if history was compacted before": {
			stateWith(formed, members(3), full, database(100, 79), compacted(4000, time.Minute), defragmentedAgo(0, 50*time.Second), defragmentedAgo(1, 50*time.Second), defragmentedAgo(2, 50*time.Second)),
			steps.Wait{
				Reason: v1beta2.ReasonNoSpace, Stalled: true,
				Message: "The space quota is used up, and etcd refuses writes. The database of member " + nameOf(0) + " has 100Mi, of which 79Mi are in use. Compacting all but 1000 revisions does not make room. Delete keys, or lower spec.noSpace.keepRevisions (0 frees deleted keys at once), " + raise + " Reads and deletions still work.",
			},
		},
		"uses the quota of the spec if the members do not report theirs": {
			stateWith(formed, members(3), quotaEnv("104857600"), full, database(90, 50), func(s *state.State) {
				for i := range s.Members {
					s.Members[i].DBQuota = 0
				}
			}), disarm,
		},
		"does not guess a quota that the spec takes from another source": {
			stateWith(formed, members(1), size(1), quotaEnv(""), full, database(95, 95), compacted(4000, time.Hour), defragmentedAgo(0, time.Minute), with(0, func(m *state.Member) { m.DBQuota = 0 })),
			steps.Wait{
				Reason: v1beta2.ReasonNoSpace, Stalled: true,
				Message: "The space quota is used up, and etcd refuses writes. The database of member " + nameOf(0) + " has 95Mi, of which 95Mi are in use. Compacting all but 1000 revisions does not make room. Delete keys, or lower spec.noSpace.keepRevisions (0 frees deleted keys at once), " + raiseEnv + " Reads and deletions still work.",
			},
		},
		"defragments no member while another one is starting": {
			stateWith(formed, members(3), full, database(100, 40), with(2, pod(state.PodStarting))),
			steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(2) + " is starting."},
		},
		"scales down while the space quota is used up": {
			stateWith(formed, members(3), size(1), full, database(100, 95)), steps.RemoveMember{ID: 3, Name: nameOf(2)},
		},
	}.run(t)
}

func TestWhatWasForgottenIsRememberedAsLongAsTheAlarmIsOn(t *testing.T) {
	s := stateWith(formed, members(3), full, database(100, 95))
	after := NewStatus(s, steps.CompactHistory{Revision: 4000}, nil, v1beta2.EtcdClusterStatus{}, 1)
	if after.Space == nil || after.Space.CompactedRevision != 4000 || !after.Space.CompactedAt.Equal(ptr.To(metav1.NewTime(s.Now))) {
		t.Errorf("after the compaction: %+v", after.Space)
	}
	s.Space = after.Space
	if still := NewStatus(s, steps.Done{}, nil, after, 1); still.Space == nil {
		t.Error("forgotten while the alarm is on")
	}
	s = stateWith(formed, members(3), database(50, 50), compacted(4000, 0))
	if over := NewStatus(s, steps.Done{}, nil, after, 1); over.Space != nil {
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
	s := stateWith(formed, members(3), full)
	if _, is := Plan(s).(steps.DefragmentMember); !is {
		t.Fatalf("with all members the plan is %+v", Plan(s))
	}
	for name, s := range map[string]state.State{
		"there are two of three voters, and the operator adds no member for 8 h":        stateWith(formed, members(2), full, failures(7, time.Minute)),
		"an annotation asks for a replacement, and the operator adds no member for 8 h": stateWith(formed, members(3), full, failures(7, time.Minute), asks(state.Asked{Replace: []string{nameOf(1)}})),
		"there is no StorageClass": stateWith(formed, members(2), full, noClass),
	} {
		if wait, waits := Plan(s).(steps.Wait); waits {
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
	for name, c := range map[string]change{
		"a missing Secret for authentication, which is off": func(s *state.State) { s.Authentication.Problem = "Secret x is missing." },
		"a foreign learner":              guest(withoutVote),
		"a fence that would take quorum": asks(state.Asked{Fence: []string{nameOf(0), nameOf(1)}}),
		"no other problem":               func(*state.State) {},
		"a member that refuses the operator: its user lacks the role root": with(1, deniedBy(etcd.RefusedRole)),
	} {
		s := stateWith(formed, members(3), full, c, with(0, outOfService))
		s.Members[0].InService = !slices.Contains(s.Asked.Fence, nameOf(0))
		wait, _ := Plan(s).(steps.Wait)
		status := NewStatus(s, wait, nil, v1beta2.EtcdClusterStatus{}, 1)
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
	for name, raise := range map[string]change{
		"spec.etcd": func(s *state.State) { s.Spec.Etcd = &v1beta2.EtcdPolicy{QuotaBackendBytes: &q} },
		"ETCD_QUOTA_BACKEND_BYTES in spec.pod.etcdEnv": quotaEnv("209715200"),
	} {
		s := stateWith(formed, members(3), ofVersion("3.5.29"), database(100, 95), full, raise, compacted(4000, time.Hour), defragmentedAgo(0, time.Minute))
		for i := range s.Members {
			m := &s.Members[i]
			m.DBQuota, m.PodQuota, m.Version, m.PodImage, m.Outdated = 0, ptr.To(100*mi), "3.5.29", s.Spec.Image(), true
		}
		s.KnownVersion = "3.5.29"
		if step, is := Plan(s).(steps.DeletePod); !is || step.Name != nameOf(1) {
			t.Errorf("%s: the plan is %+v", name, Plan(s))
		}
		for i := range s.Members {
			s.Members[i].Outdated, s.Members[i].PodQuota = false, ptr.To(200*mi)
		}
		if _, is := Plan(s).(steps.DisarmAlarm); !is {
			t.Errorf("%s: with the new quota the plan is %+v", name, Plan(s))
		}
	}
}

// If a member starts with a quota below its size in use, its first write raises the alarm for all members.
func TestNoMemberIsRestartedWithAQuotaBelowWhatIsInUse(t *testing.T) {
	q := resource.MustParse("50Mi")
	s := stateWith(formed, members(3), database(100, 80), with(2, outdated), func(s *state.State) { s.Spec.Etcd = &v1beta2.EtcdPolicy{QuotaBackendBytes: &q} })
	wait, is := Plan(s).(steps.Wait)
	if !is || !wait.Stalled || wait.Reason != v1beta2.ReasonNoSpace || !strings.Contains(wait.Message, "spec.etcd.quotaBackendBytes") {
		t.Errorf("the plan is %+v", Plan(s))
	}
	for name, c := range map[string]change{
		"less is in use":                      database(100, 40),
		"the spec asks for the present quota": func(s *state.State) { q := resource.MustParse("100Mi"); s.Spec.Etcd.QuotaBackendBytes = &q },
		"the quota is raised":                 func(s *state.State) { q := resource.MustParse("1Gi"); s.Spec.Etcd.QuotaBackendBytes = &q },
	} {
		s := s
		s.Members, s.Spec.Etcd = slices.Clone(s.Members), s.Spec.Etcd.DeepCopy()
		c(&s)
		if _, is := Plan(s).(steps.DeletePod); !is {
			t.Errorf("%s: the plan is %+v", name, Plan(s))
		}
	}
}
