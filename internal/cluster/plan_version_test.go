package cluster

import (
	"testing"

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
		return DeletePod{Name: nameOf(i), Why: v1beta2.ReasonUpgrading, Message: "bring it to quay.io/coreos/etcd:v3.6.16"}
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
			Wait{Why: v1beta2.ReasonSettling, Message: "member " + nameOf(1) + " is starting"},
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
			DeletePod{Name: nameOf(1), Why: v1beta2.ReasonUpgrading, Message: "bring it to mirror/etcd:v3.6.16"},
		},
		"refuses with emptyDir": {
			state(formed, members(3), old, ephemeral),
			Wait{Why: v1beta2.ReasonVersionNotSupported, Message: "members with emptyDir lose their data when their Pod is made again: version, repository and certificate authorities cannot change; restore a snapshot into a new cluster instead", Stalled: true},
		},
		"refuses to jump, and names the path": {
			state(formed, members(3), ofVersion("3.8.0")),
			Wait{Why: v1beta2.ReasonVersionNotSupported, Message: "etcd is upgraded one minor version at a time: set version to the newest 3.7 before 3.8.0", Stalled: true},
		},
	}.run(t)
}

func TestUpgradeRefusal(t *testing.T) {
	tests := map[string]struct{ from, to, want string }{
		"a patch up is allowed":         {"3.6.15", "3.6.16", ""},
		"a patch down is allowed":       {"3.6.16", "3.6.15", ""},
		"the next minor is allowed":     {"3.5.26", "3.6.16", ""},
		"an unknown version is allowed": {"", "3.6.16", ""},
		"3.6 needs a late 3.5":          {"3.5.25", "3.6.16", "upgrade to 3.5.26 or newer before 3.6, as etcd's upgrade guide asks"},
		"a jump of two minors is refused": {
			"3.4.30", "3.6.16", "etcd is upgraded one minor version at a time: set version to the newest 3.5 before 3.6.16",
		},
		"another major is refused": {
			"3.6.16", "4.0.0", "etcd is upgraded one minor version at a time: set version to the newest 3.7 before 4.0.0",
		},
		"an older minor is refused": {
			"3.6.16", "3.5.26", "the cluster runs 3.6.16, and etcd's data is not readable by an older minor: set version back to 3.6.16",
		},
		"3.7 in place is refused": {
			"3.6.16", "3.7.1", "an upgrade in place to 3.7 is not supported yet, because members born on 3.5 or older may not start: make a snapshot and restore it into a cluster of version 3.7.1",
		},
		"what is no version is refused": {"3.6.16", "newest", `version "newest" is no version of etcd`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := upgradeRefusal(test.from, test.to); got != test.want {
				t.Errorf("upgradeRefusal(%q, %q) = %q, want %q", test.from, test.to, got, test.want)
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
