package versions_test

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/versions"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func TestPlanRoll(t *testing.T) {
	old := plantest.EveryImage("3.6.15")
	stop := func(i int) steps.Step {
		return steps.DeletePod{Name: plantest.NameOf(i), Reason: v1beta2.ReasonUpgrading, Message: "it must run image quay.io/coreos/etcd:v3.6.16"}
	}
	plantest.Plans{
		"stops a follower before the leader": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), old), stop(1),
		},
		"stops the next follower when the first is healthy again": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), old, plantest.With(1, plantest.WithImage("3.6.16"))), stop(2),
		},
		"stops no member while another one is starting": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), old, plantest.With(1, plantest.WithImage("3.6.16"), plantest.Pod(state.PodStarting))),
			steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + plantest.NameOf(1) + " is starting."},
		},
		"moves leadership when only the leader is left to stop": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), old, plantest.With(1, plantest.WithImage("3.6.16")), plantest.With(2, plantest.WithImage("3.6.16"))),
			steps.MoveLeader{From: plantest.NameOf(0), To: 2, Name: plantest.NameOf(1)},
		},
		"stops the former leader": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), old, plantest.With(0, func(m *state.Member) { m.Leader = false }), plantest.With(1, plantest.WithImage("3.6.16"), func(m *state.Member) { m.Leader = true }), plantest.With(2, plantest.WithImage("3.6.16"))),
			stop(0),
		},
		"stops the only member": {
			plantest.StateWith(plantest.Size(1), plantest.Formed, plantest.Members(1), old), stop(0),
		},
		"recreates a member with the new image": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), old, plantest.With(1, plantest.WithoutPod)), steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin},
		},
		"restarts a member if spec.repository has changed": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), func(s *state.State) { s.Spec.Repository = "mirror/etcd" }),
			steps.DeletePod{Name: plantest.NameOf(1), Reason: v1beta2.ReasonUpgrading, Message: "it must run image mirror/etcd:v3.6.16"},
		},
		"restarts a member if spec.pod has changed": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(2, plantest.Outdated)),
			steps.DeletePod{Name: plantest.NameOf(2), Reason: v1beta2.ReasonRolling, Message: "spec.pod or spec.TLS has changed"},
		},
		"moves leadership before it restarts the leader for another spec.pod": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, plantest.Outdated)), steps.MoveLeader{From: plantest.NameOf(0), To: 2, Name: plantest.NameOf(1)},
		},
		"changes labels and annotations in place": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(2, func(m *state.Member) { m.Relabel = true })), steps.RelabelPod{Name: plantest.NameOf(2)},
		},
		"recreates a Pod at once that cannot start if spec.pod has changed": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.BlockedBy(v1beta2.ReasonPodUnschedulable), plantest.Outdated)),
			steps.DeletePod{Name: plantest.NameOf(1), Reason: v1beta2.ReasonSettling, Message: "spec.pod or spec.TLS has changed"},
		},
		"recreates the Pod of a member that does not serve if spec.pod has changed": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Pod(state.PodRunning), plantest.Outdated, plantest.UnreadyFor(2*time.Minute))),
			steps.DeletePod{Name: plantest.NameOf(1), Reason: v1beta2.ReasonSettling, Message: "it does not serve and differs from the spec"},
		},
		"waits for a member that has been unready for 20 s": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Pod(state.PodRunning), plantest.Outdated, plantest.UnreadyFor(20*time.Second))),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + plantest.NameOf(1) + " does not serve: its Pod is not ready."},
		},
		"refuses to skip a minor version, and names the path": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.OfVersion("3.8.0")),
			steps.Wait{Reason: v1beta2.ReasonVersionNotSupported, Message: "etcd is upgraded one minor version at a time. Set spec.version to the newest 3.7 before 3.8.0. The members keep their version until then.", Stalled: true},
		},
	}.Run(t, plan.Plan)
}

func TestImageFor(t *testing.T) {
	tests := map[string]struct {
		state       state.State
		incarnation int32
		want        string
	}{
		"a cluster that has not formed gets the version of the spec":                 {plantest.StateWith(plantest.OfVersion("3.7.1")), 1, "quay.io/coreos/etcd:v3.7.1"},
		"a member gets a version that is allowed":                                    {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.OfVersion("3.6.17")), 1, "quay.io/coreos/etcd:v3.6.17"},
		"a new Pod does not get a refused version":                                   {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.OfVersion("3.8.0")), 1, "quay.io/coreos/etcd:v3.6.16"},
		"a new Pod does not get a version that the data is not prepared for":         {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.OfVersion("3.7.1")), 1, "quay.io/coreos/etcd:v3.6.16"},
		"a new Pod keeps the version while the data is being prepared":               {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.OfVersion("3.7.1"), plantest.PreparedFor("3.7", v1beta2.VersionChangeSnapshotted)), 1, "quay.io/coreos/etcd:v3.6.16"},
		"a new Pod gets a version that the data is prepared for":                     {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.OfVersion("3.7.1"), plantest.PreparedFor("3.7", v1beta2.VersionChangeReady)), 1, "quay.io/coreos/etcd:v3.7.1"},
		"a new Pod does not get an older version before the data is prepared for it": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.OfVersion("3.5.35")), 1, "quay.io/coreos/etcd:v3.6.16"},
		"a new Pod gets the recorded version if no member reports one":               {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.EveryImage(""), plantest.OfVersion("3.8.0"), func(s *state.State) { s.KnownVersion = "3.6.15" }), 1, "quay.io/coreos/etcd:v3.6.15"},
		"a seed gets the version of the spec":                                        {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.OfVersion("3.7.1")), 2, "quay.io/coreos/etcd:v3.7.1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.state.ImageFor(test.incarnation); got != test.want {
				t.Errorf("ImageFor(%d) = %s, want %s", test.incarnation, got, test.want)
			}
		})
	}
}

func TestASilentMemberCountsWithWhatItLastRan(t *testing.T) {
	three := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.OfVersion("3.7.3"), plantest.EveryImage("3.7.3"), func(s *state.State) { s.KnownVersion = "3.6.16" })
	if lowest, highest := state.Versions(three); lowest != "3.7.3" || highest != "3.7.3" {
		t.Errorf("all answer, and the versions are %s and %s", lowest, highest)
	}
	three.Members[1].Answers, three.Members[1].Started, three.Members[1].Version = false, true, ""
	if lowest, highest := state.Versions(three); lowest != "3.6.16" || highest != "3.7.3" {
		t.Errorf("one is silent that ran 3.6.16, and the versions are %s and %s", lowest, highest)
	}
}

// The data of a member is of 3.7, so etcd finished the upgrade: no member can start with 3.6 again. What was recorded last is older than that.
// Without this, a person who adds a member by hand at that moment stops every member from starting: its version is not known, so a change to
// 3.7 waits, and the members would start with 3.6, which etcd refuses.
func TestARecordBeforeTheEndOfAnUpgradeDoesNotCount(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(5), plantest.OfVersion("3.7.3"), plantest.EveryImage("3.7.3"), plantest.PreparedFor("3.7", v1beta2.VersionChangeReady), func(s *state.State) { s.KnownVersion = "3.6.16" })
	for i := range s.Members {
		s.Members[i].Started = true
		if i < 2 {
			s.Members[i].StorageVersion = "3.7.0"
			continue
		}
		s.Members[i].Answers, s.Members[i].Version, s.Members[i].StorageVersion = false, "", ""
	}
	s.ForeignMembers = []state.ForeignMember{{ID: 0xf}}
	if lowest, highest := state.Versions(s); lowest != "3.7.3" || highest != "3.7.3" {
		t.Errorf("two of five answer with 3.7.3, their data is of 3.7, and the versions are %s and %s", lowest, highest)
	}
	if got := state.VersionFor(s, 1); got != "3.7.3" {
		t.Errorf("a silent member would start with %s", got)
	}
	for i := range 2 {
		s.Members[i].StorageVersion = "3.6.0"
	}
	if lowest, _ := state.Versions(s); lowest != "3.6.16" {
		t.Errorf("the data is of 3.6, so a silent member may still run 3.6.16, and the lowest version is %s", lowest)
	}
}

// The digest is that of 3.7, but spec.version is still 3.6. Without this, all members get 3.7 without the checks of an
// upgrade, and then the operator enables a downgrade in etcd.
func TestADigestOfAnotherVersionIsRolledOutToOneMemberAtMost(t *testing.T) {
	pin := func(s *state.State) {
		s.Spec.ImagePolicy = &v1beta2.ImagePolicy{Digest: "sha256:" + strings.Repeat("a", 64)}
	}
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), pin)
	s.Members[1].PodImage, s.Members[1].Version = s.Spec.Image(), "3.7.0"
	wait, is := plan.Plan(s).(steps.Wait)
	if !is || !wait.Stalled || wait.Reason != v1beta2.ReasonVersionNotSupported || !strings.Contains(wait.Message, "3.7.0") || !strings.Contains(wait.Message, "spec.version") {
		t.Errorf("after the first member: %+v", plan.Plan(s))
	}
	for i := range s.Members {
		s.Members[i].PodImage, s.Members[i].Version, s.Members[i].StorageVersion = s.Spec.Image(), "3.7.0", "3.7.0"
	}
	if wait, is := plan.Plan(s).(steps.Wait); !is || wait.Reason != v1beta2.ReasonVersionNotSupported {
		t.Errorf("after all: %+v", plan.Plan(s))
	}
	s = plantest.StateWith(plantest.Formed, plantest.Members(3), pin)
	s.Members[1].PodImage, s.Members[1].Version = s.Spec.Image(), "3.6.17"
	if step, is := plan.Plan(s).(steps.DeletePod); !is || step.Name != plantest.NameOf(2) {
		t.Errorf("with another patch release: %+v", plan.Plan(s))
	}
}

// A downgrade brings the data down before the first member runs the lower version. If the user asks for the next version in between, a
// member whose Pod is recreated would start on a version that cannot read its data.
func TestNoMemberStartsOnAVersionTwoAboveItsData(t *testing.T) {
	behind := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Runs("3.7.3"), plantest.Storage("3.6.0"), plantest.With(1, plantest.Silent), plantest.With(2, plantest.Silent), plantest.OfVersion("3.8.0"))
	if got := state.VersionFor(behind, 1); got != "3.7.3" {
		t.Errorf("with data at 3.6 a member starts on %s, want 3.7.3", got)
	}
	if got := state.VersionFor(plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Runs("3.7.3"), plantest.Storage("3.7.0"), plantest.OfVersion("3.8.0")), 1); got != "3.8.0" {
		t.Errorf("with data at 3.7 a member starts on %s, want 3.8.0", got)
	}
	wait, ok := versions.RollMembers(plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Runs("3.7.3"), plantest.Storage("3.6.0"), plantest.OfVersion("3.8.0"))).(steps.Wait)
	if !ok || !strings.Contains(wait.Message, "is still at 3.6, and etcd 3.8 cannot read it. etcd is converting it to 3.7") {
		t.Errorf("healthy members with data at 3.6: %v, want a wait for the data", wait)
	}
}
