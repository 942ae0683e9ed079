package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/versions"
)

func everyImage(v string) change {
	return func(s *state.State) {
		s.KnownVersion = v
		for i := range s.Members {
			withImage(v)(&s.Members[i])
		}
	}
}

func TestPlanRoll(t *testing.T) {
	old := everyImage("3.6.15")
	stop := func(i int) steps.Step {
		return steps.DeletePod{Name: nameOf(i), Reason: v1beta2.ReasonUpgrading, Message: "it must run image quay.io/coreos/etcd:v3.6.16"}
	}
	planTests{
		"stops a follower before the leader": {
			stateWith(formed, members(3), old), stop(1),
		},
		"stops the next follower when the first is healthy again": {
			stateWith(formed, members(3), old, with(1, withImage("3.6.16"))), stop(2),
		},
		"stops no member while another one is starting": {
			stateWith(formed, members(3), old, with(1, withImage("3.6.16"), pod(state.PodStarting))),
			steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(1) + " is starting."},
		},
		"moves leadership when only the leader is left to stop": {
			stateWith(formed, members(3), old, with(1, withImage("3.6.16")), with(2, withImage("3.6.16"))),
			steps.MoveLeader{From: nameOf(0), To: 2, Name: nameOf(1)},
		},
		"stops the former leader": {
			stateWith(formed, members(3), old, with(0, func(m *state.Member) { m.Leader = false }), with(1, withImage("3.6.16"), func(m *state.Member) { m.Leader = true }), with(2, withImage("3.6.16"))),
			stop(0),
		},
		"stops the only member": {
			stateWith(size(1), formed, members(1), old), stop(0),
		},
		"recreates a member with the new image": {
			stateWith(formed, members(3), old, with(1, withoutPod)), steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin},
		},
		"restarts a member if spec.repository has changed": {
			stateWith(formed, members(3), func(s *state.State) { s.Spec.Repository = "mirror/etcd" }),
			steps.DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonUpgrading, Message: "it must run image mirror/etcd:v3.6.16"},
		},
		"restarts a member if spec.pod has changed": {
			stateWith(formed, members(3), with(2, outdated)),
			steps.DeletePod{Name: nameOf(2), Reason: v1beta2.ReasonRolling, Message: "spec.pod or spec.TLS has changed"},
		},
		"moves leadership before it restarts the leader for another spec.pod": {
			stateWith(formed, members(3), with(0, outdated)), steps.MoveLeader{From: nameOf(0), To: 2, Name: nameOf(1)},
		},
		"changes labels and annotations in place": {
			stateWith(formed, members(3), with(2, func(m *state.Member) { m.Relabel = true })), steps.RelabelPod{Name: nameOf(2)},
		},
		"recreates a Pod at once that cannot start if spec.pod has changed": {
			stateWith(formed, members(3), with(1, blockedBy(v1beta2.ReasonPodUnschedulable), outdated)),
			steps.DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonSettling, Message: "spec.pod or spec.TLS has changed"},
		},
		"recreates the Pod of a member that does not serve if spec.pod has changed": {
			stateWith(formed, members(3), with(1, pod(state.PodRunning), outdated, unreadyFor(2*time.Minute))),
			steps.DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonSettling, Message: "it does not serve and differs from the spec"},
		},
		"waits for a member that has been unready for 20 s": {
			stateWith(formed, members(3), with(1, pod(state.PodRunning), outdated, unreadyFor(20*time.Second))),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + nameOf(1) + " does not serve: its Pod is not ready."},
		},
		"refuses to skip a minor version, and names the path": {
			stateWith(formed, members(3), ofVersion("3.8.0")),
			steps.Wait{Reason: v1beta2.ReasonVersionNotSupported, Message: "etcd is upgraded one minor version at a time. Set spec.version to the newest 3.7 before 3.8.0. The members keep their version until then.", Stalled: true},
		},
	}.run(t)
}

func outdated(m *state.Member) { m.Outdated = true }

func TestImageFor(t *testing.T) {
	tests := map[string]struct {
		state       state.State
		incarnation int32
		want        string
	}{
		"a cluster that has not formed gets the version of the spec":                 {stateWith(ofVersion("3.7.1")), 1, "quay.io/coreos/etcd:v3.7.1"},
		"a member gets a version that is allowed":                                    {stateWith(formed, members(3), ofVersion("3.6.17")), 1, "quay.io/coreos/etcd:v3.6.17"},
		"a new Pod does not get a refused version":                                   {stateWith(formed, members(3), ofVersion("3.8.0")), 1, "quay.io/coreos/etcd:v3.6.16"},
		"a new Pod does not get a version that the data is not prepared for":         {stateWith(formed, members(3), ofVersion("3.7.1")), 1, "quay.io/coreos/etcd:v3.6.16"},
		"a new Pod keeps the version while the data is being prepared":               {stateWith(formed, members(3), ofVersion("3.7.1"), preparedFor("3.7", v1beta2.VersionChangeSnapshotted)), 1, "quay.io/coreos/etcd:v3.6.16"},
		"a new Pod gets a version that the data is prepared for":                     {stateWith(formed, members(3), ofVersion("3.7.1"), preparedFor("3.7", v1beta2.VersionChangeReady)), 1, "quay.io/coreos/etcd:v3.7.1"},
		"a new Pod does not get an older version before the data is prepared for it": {stateWith(formed, members(3), ofVersion("3.5.35")), 1, "quay.io/coreos/etcd:v3.6.16"},
		"a new Pod gets the recorded version if no member reports one":               {stateWith(formed, members(3), noQuorum, everyImage(""), ofVersion("3.8.0"), func(s *state.State) { s.KnownVersion = "3.6.15" }), 1, "quay.io/coreos/etcd:v3.6.15"},
		"a seed gets the version of the spec":                                        {stateWith(formed, members(3), ofVersion("3.7.1")), 2, "quay.io/coreos/etcd:v3.7.1"},
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
	three := stateWith(formed, members(3), ofVersion("3.7.3"), everyImage("3.7.3"), func(s *state.State) { s.KnownVersion = "3.6.16" })
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
	s := stateWith(formed, members(5), ofVersion("3.7.3"), everyImage("3.7.3"), preparedFor("3.7", v1beta2.VersionChangeReady), func(s *state.State) { s.KnownVersion = "3.6.16" })
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
	s := stateWith(formed, members(3), pin)
	s.Members[1].PodImage, s.Members[1].Version = s.Spec.Image(), "3.7.0"
	wait, is := Plan(s).(steps.Wait)
	if !is || !wait.Stalled || wait.Reason != v1beta2.ReasonVersionNotSupported || !strings.Contains(wait.Message, "3.7.0") || !strings.Contains(wait.Message, "spec.version") {
		t.Errorf("after the first member: %+v", Plan(s))
	}
	for i := range s.Members {
		s.Members[i].PodImage, s.Members[i].Version, s.Members[i].StorageVersion = s.Spec.Image(), "3.7.0", "3.7.0"
	}
	if wait, is := Plan(s).(steps.Wait); !is || wait.Reason != v1beta2.ReasonVersionNotSupported {
		t.Errorf("after all: %+v", Plan(s))
	}
	s = stateWith(formed, members(3), pin)
	s.Members[1].PodImage, s.Members[1].Version = s.Spec.Image(), "3.6.17"
	if step, is := Plan(s).(steps.DeletePod); !is || step.Name != nameOf(2) {
		t.Errorf("with another patch release: %+v", Plan(s))
	}
}

// A downgrade brings the data down before the first member runs the lower version. If the user asks for the next version in between, a
// member whose Pod is recreated would start on a version that cannot read its data.
func TestNoMemberStartsOnAVersionTwoAboveItsData(t *testing.T) {
	behind := stateWith(formed, members(3), runs("3.7.3"), storage("3.6.0"), with(1, silent), with(2, silent), ofVersion("3.8.0"))
	if got := state.VersionFor(behind, 1); got != "3.7.3" {
		t.Errorf("with data at 3.6 a member starts on %s, want 3.7.3", got)
	}
	if got := state.VersionFor(stateWith(formed, members(3), runs("3.7.3"), storage("3.7.0"), ofVersion("3.8.0")), 1); got != "3.8.0" {
		t.Errorf("with data at 3.7 a member starts on %s, want 3.8.0", got)
	}
	wait, ok := versions.RollMembers(stateWith(formed, members(3), runs("3.7.3"), storage("3.6.0"), ofVersion("3.8.0"))).(steps.Wait)
	if !ok || !strings.Contains(wait.Message, "is still at 3.6, and etcd 3.8 cannot read it. etcd is converting it to 3.7") {
		t.Errorf("healthy members with data at 3.6: %v, want a wait for the data", wait)
	}
}
