package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

func everyImage(v string) change {
	return func(s *State) {
		s.KnownVersion = v
		for i := range s.Members {
			withImage(v)(&s.Members[i])
		}
	}
}

func TestPlanRoll(t *testing.T) {
	old := everyImage("3.6.15")
	stop := func(i int) Step {
		return DeletePod{Name: nameOf(i), Reason: v1beta2.ReasonUpgrading, Message: "it must run image quay.io/coreos/etcd:v3.6.16"}
	}
	planTests{
		"stops one member, and not the leader": {
			state(formed, members(3), old), stop(1),
		},
		"stops the next when the first is well again": {
			state(formed, members(3), old, with(1, withImage("3.6.16"))), stop(2),
		},
		"stops nobody while one is down": {
			state(formed, members(3), old, with(1, withImage("3.6.16"), pod(PodStarting))),
			Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(1) + " is starting."},
		},
		"moves leadership before the leader is stopped, last": {
			state(formed, members(3), old, with(1, withImage("3.6.16")), with(2, withImage("3.6.16"))),
			MoveLeader{From: nameOf(0), To: 2, Name: nameOf(1)},
		},
		"stops the former leader": {
			state(formed, members(3), old, with(0, func(m *Member) { m.Leader = false }), with(1, withImage("3.6.16"), func(m *Member) { m.Leader = true }), with(2, withImage("3.6.16"))),
			stop(0),
		},
		"stops a member that is alone": {
			state(size(1), formed, members(1), old), stop(0),
		},
		"makes a member again with the new image": {
			state(formed, members(3), old, with(1, withoutPod)), CreateMember{Name: nameOf(1), Incarnation: 1, Start: StartRejoin},
		},
		"brings members to another repository": {
			state(formed, members(3), func(s *State) { s.Spec.Repository = "mirror/etcd" }),
			DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonUpgrading, Message: "it must run image mirror/etcd:v3.6.16"},
		},
		"makes a Pod again that was made for another spec.pod": {
			state(formed, members(3), with(2, outdated)),
			DeletePod{Name: nameOf(2), Reason: v1beta2.ReasonRolling, Message: "spec.pod or spec.TLS has changed"},
		},
		"moves leadership before that, too": {
			state(formed, members(3), with(0, outdated)), MoveLeader{From: nameOf(0), To: 2, Name: nameOf(1)},
		},
		"changes labels and annotations in place": {
			state(formed, members(3), with(2, func(m *Member) { m.Relabel = true })), RelabelPod{Name: nameOf(2)},
		},
		"makes a Pod again at once that cannot start as it was asked for": {
			state(formed, members(3), with(1, blockedBy(v1beta2.ReasonPodUnschedulable), outdated)),
			DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonSettling, Message: "spec.pod or spec.TLS has changed"},
		},
		"makes a member again that does not serve as it was asked for": {
			state(formed, members(3), with(1, pod(PodRunning), outdated, unreadyFor(2*time.Minute))),
			DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonSettling, Message: "it does not serve and differs from the spec"},
		},
		"leaves one alone that has yet to serve": {
			state(formed, members(3), with(1, pod(PodRunning), outdated, unreadyFor(20*time.Second))),
			Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + nameOf(1) + " does not serve: its Pod is not ready."},
		},
		"refuses to jump, and names the path": {
			state(formed, members(3), ofVersion("3.8.0")),
			Wait{Reason: v1beta2.ReasonVersionNotSupported, Message: "etcd is upgraded one minor version at a time. Set spec.version to the newest 3.7 before 3.8.0. The members keep their version until then.", Stalled: true},
		},
	}.run(t)
}

func outdated(m *Member) { m.Outdated = true }

func TestUpgradeRefusal(t *testing.T) {
	tests := map[string]struct{ lowest, highest, to, want string }{
		"a patch up is allowed":         {"3.6.15", "3.6.15", "3.6.16", ""},
		"a patch down is allowed":       {"3.6.16", "3.6.16", "3.6.15", ""},
		"the next minor is allowed":     {"3.5.26", "3.5.26", "3.6.16", ""},
		"3.4 goes to 3.5":               {"3.4.23", "3.4.23", "3.5.35", ""},
		"an unknown version is allowed": {"", "", "3.6.16", ""},
		"3.6 needs a late 3.5":          {"3.5.25", "3.5.25", "3.6.16", "etcd's upgrade guide requires 3.5.26 or newer before 3.6. Upgrade to that version first."},
		"3.7 needs a late 3.6":          {"3.6.10", "3.6.10", "3.7.3", "etcd's upgrade guide requires 3.6.11 or newer before 3.7. Upgrade to that version first."},
		"3.7 is allowed from one":       {"3.6.11", "3.6.11", "3.7.3", ""},
		"a jump of two minors is refused": {
			"3.4.30", "3.4.30", "3.6.16", "etcd is upgraded one minor version at a time. Set spec.version to the newest 3.5 before 3.6.16.",
		},
		"another major is refused": {
			"3.6.16", "3.6.16", "4.0.0", "The cluster runs 3.6.16, and etcd cannot change its major version. Set spec.version to 3.6.x.",
		},
		"half way up it may go back":            {"3.5.35", "3.6.16", "3.5.35", ""},
		"and to another patch of the lower":     {"3.5.35", "3.6.16", "3.5.34", ""},
		"half way up it may go on":              {"3.5.35", "3.6.16", "3.6.15", ""},
		"half way down it may go back up":       {"3.6.16", "3.7.3", "3.7.3", ""},
		"half way it may not start on the next": {"3.5.35", "3.6.16", "3.7.3", "Members run 3.5.35 and 3.6.16. Set spec.version to one of these two. When all members run the same version, set it to 3.7.3."},
		"nor turn to an older one":              {"3.5.35", "3.6.16", "3.4.23", "Members run 3.5.35 and 3.6.16. Set spec.version to one of these two. When all members run the same version, set it to 3.4.23."},
		"a minor down is allowed by its API":    {"3.7.3", "3.7.3", "3.6.16", ""},
		"from 3.6, too":                         {"3.6.16", "3.6.16", "3.5.35", ""},
		"not to where there is no way up again": {"3.6.16", "3.6.16", "3.5.20", "Downgrade to 3.5.26 or newer. From an older version the cluster could not be upgraded again."},
		"two minors down are refused":           {"3.7.3", "3.7.3", "3.5.35", "etcd is downgraded one minor version at a time. Set spec.version to the newest 3.6 before 3.5.35."},
		"before 3.6 there is no way down":       {"3.5.35", "3.5.35", "3.4.23", "The cluster runs 3.5.35, and 3.4.23 cannot read its data. Set spec.version back to 3.5.35."},
		"nor from 3.6 to what has no way up":    {"3.6.16", "3.6.16", "3.4.23", "The cluster runs 3.6.16, and 3.4.23 cannot read its data. Set spec.version back to 3.6.16."},
		"what is no version is refused":         {"3.6.16", "3.6.16", "newest", `Version "newest" is not a version of etcd. Correct spec.version.`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := upgradeRefusal(test.lowest, test.highest, test.to); got != test.want {
				t.Errorf("upgradeRefusal(%q, %q, %q) = %q, want %q", test.lowest, test.highest, test.to, got, test.want)
			}
		})
	}
}

func TestImageFor(t *testing.T) {
	tests := map[string]struct {
		state       State
		incarnation int32
		want        string
	}{
		"a cluster that has not formed gets what the spec says": {state(ofVersion("3.7.1")), 1, "quay.io/coreos/etcd:v3.7.1"},
		"a member gets a version that is allowed":               {state(formed, members(3), ofVersion("3.6.17")), 1, "quay.io/coreos/etcd:v3.6.17"},
		"a refused version does not slip in with a new Pod":     {state(formed, members(3), ofVersion("3.8.0")), 1, "quay.io/coreos/etcd:v3.6.16"},
		"nor one that the data is not ready for":                {state(formed, members(3), ofVersion("3.7.1")), 1, "quay.io/coreos/etcd:v3.6.16"},
		"nor while that is under way":                           {state(formed, members(3), ofVersion("3.7.1"), preparedFor("3.7", v1beta2.VersionChangeSnapshotted)), 1, "quay.io/coreos/etcd:v3.6.16"},
		"one that the data is ready for does":                   {state(formed, members(3), ofVersion("3.7.1"), preparedFor("3.7", v1beta2.VersionChangeReady)), 1, "quay.io/coreos/etcd:v3.7.1"},
		"nor does an older one, before the data is":             {state(formed, members(3), ofVersion("3.5.35")), 1, "quay.io/coreos/etcd:v3.6.16"},
		"nor when no member answers":                            {state(formed, members(3), noQuorum, everyImage(""), ofVersion("3.8.0"), func(s *State) { s.KnownVersion = "3.6.15" }), 1, "quay.io/coreos/etcd:v3.6.15"},
		"a seed gets what the spec says":                        {state(formed, members(3), ofVersion("3.7.1")), 2, "quay.io/coreos/etcd:v3.7.1"},
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
	three := state(formed, members(3), ofVersion("3.7.3"), everyImage("3.7.3"), func(s *State) { s.KnownVersion = "3.6.16" })
	if lowest, highest := three.versions(); lowest != "3.7.3" || highest != "3.7.3" {
		t.Errorf("all answer, and the versions are %s and %s", lowest, highest)
	}
	three.Members[1].Answers, three.Members[1].Started, three.Members[1].Version = false, true, ""
	if lowest, highest := three.versions(); lowest != "3.6.16" || highest != "3.7.3" {
		t.Errorf("one is silent that ran 3.6.16, and the versions are %s and %s", lowest, highest)
	}
}

// The digest is that of 3.7, and spec.version still says 3.6. Without this all members get 3.7, past the checks of an
// upgrade, and then a downgrade is enabled in etcd.
func TestADigestOfAnotherVersionIsRolledOutToOneMemberAtMost(t *testing.T) {
	pin := func(s *State) { s.Spec.ImagePolicy = &v1beta2.ImagePolicy{Digest: "sha256:" + strings.Repeat("a", 64)} }
	s := state(formed, members(3), pin)
	s.Members[1].PodImage, s.Members[1].Version = s.Spec.Image(), "3.7.0"
	wait, is := Plan(s).(Wait)
	if !is || !wait.Stalled || wait.Reason != v1beta2.ReasonVersionNotSupported || !strings.Contains(wait.Message, "3.7.0") || !strings.Contains(wait.Message, "spec.version") {
		t.Errorf("after the first member: %+v", Plan(s))
	}
	for i := range s.Members {
		s.Members[i].PodImage, s.Members[i].Version, s.Members[i].StorageVersion = s.Spec.Image(), "3.7.0", "3.7.0"
	}
	if wait, is := Plan(s).(Wait); !is || wait.Reason != v1beta2.ReasonVersionNotSupported {
		t.Errorf("after all: %+v", Plan(s))
	}
	s = state(formed, members(3), pin)
	s.Members[1].PodImage, s.Members[1].Version = s.Spec.Image(), "3.6.17"
	if step, is := Plan(s).(DeletePod); !is || step.Name != nameOf(2) {
		t.Errorf("with another patch release: %+v", Plan(s))
	}
}
