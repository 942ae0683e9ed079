package state_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func TestAnotherMajorVersionIsRefusedWithAdviceThatHelps(t *testing.T) {
	want := "The cluster runs 3.6.16, and etcd cannot change its major version. Set spec.version to 3.6.x."
	for _, to := range []string{"2.3.8", "4.0.0"} {
		if got := state.UpgradeRefusal("3.6.16", "3.6.16", to); got != want {
			t.Errorf("%s: %q, want %q", to, got, want)
		}
	}
}

// The data is of 3.6, and the spec asks for 3.7. The operator does not know which release of 3.6 it is, and 3.7 may not read it. A person sets spec.version to
// 3.6.x first.
func TestAnOldVersionIsNotReplacedByOneThatSkipsAMinorVersion(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.NoQuorum, plantest.OfVersion("3.7.3"), plantest.With(0, plantest.OnVolume, plantest.Pod(state.PodBlocked), func(m *state.Member) { m.NeedsMinor = "3.6" }))
	s.Spec.Size, s.KnownVersion = 1, "3.5.26"
	if got := state.VersionFor(s, state.FirstIncarnation); got != "3.5.26" {
		t.Errorf("the member starts with %s", got)
	}
}

// Registries number the builds of each release, so a suffix belongs to one version. Without this, a member whose Pod is evicted while an
// upgrade is refused or prepared gets an image that no registry has, and does not start.
func TestAMemberThatRestartsBeforeAnUpgradeKeepsItsImage(t *testing.T) {
	const runs = "registry.example:5000/etcd:v3.6.16-debian-12-r4"
	cluster := func(wanted string, changes ...plantest.Change) state.State {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), func(s *state.State) {
			s.Spec.Version, s.Spec.ImagePolicy = wanted, &v1beta2.ImagePolicy{Repository: "registry.example:5000/etcd"}
			for i := range s.Members {
				s.Members[i].Version, s.Members[i].PodImage = "3.6.16", runs
			}
		})
		for _, c := range changes {
			c(&s)
		}
		return s
	}
	evicted := plantest.With(0, func(m *state.Member) {
		m.Pod, m.Serving, m.Answers, m.PodReady, m.Version, m.PodImage = state.PodNone, false, false, false, "", ""
	})
	for name, test := range map[string]struct {
		state state.State
		want  string
	}{
		"the upgrade is refused, because it skips a minor version": {cluster("3.8.0-debian-12-r1", evicted), runs},
		"the data is being prepared for the upgrade":               {cluster("3.7.3-debian-12-r1", evicted), runs},
		"another Pod has an image that does not exist": {cluster("3.8.0-debian-12-r1", plantest.With(0, func(m *state.Member) {
			m.Pod, m.Serving, m.Answers, m.Version, m.PodImage = state.PodBlocked, false, false, "", "registry.example:5000/etcd:v3.6.16-debian-12-r1"
		})), runs},
		"the tag changes with the version":    {cluster("3.8.0", evicted, func(s *state.State) { s.Spec.ImagePolicy.Tag = "{version}-0" }), runs},
		"the digest changes with the version": {cluster("3.8.0", evicted, func(s *state.State) { s.Spec.ImagePolicy.Digest = "sha256:00" }), runs},
		"the repository is corrected": {cluster("3.8.0-debian-12-r1", evicted, func(s *state.State) { s.Spec.ImagePolicy.Repository = "mirror.example/etcd" }),
			"mirror.example/etcd:v3.6.16-debian-12-r1"},
		"the members run different images": {cluster("3.8.0-debian-12-r1", evicted, plantest.With(1, func(m *state.Member) { m.PodImage = "registry.example:5000/etcd:v3.6.16-debian-12-r3" })),
			"registry.example:5000/etcd:v3.6.16-debian-12-r1"},
		"the version is that of the members": {cluster("3.6.16-debian-12-r5", evicted), "registry.example:5000/etcd:v3.6.16-debian-12-r5"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.state.ImageFor(1); got != test.want {
				t.Errorf("a member that restarts gets %s, want %s", got, test.want)
			}
		})
	}
}

func TestUpgradeRefusal(t *testing.T) {
	tests := map[string]struct{ lowest, highest, to, want string }{
		"a patch up is allowed":                 {"3.6.15", "3.6.15", "3.6.16", ""},
		"a patch down is allowed":               {"3.6.16", "3.6.16", "3.6.15", ""},
		"the next minor is allowed":             {"3.5.26", "3.5.26", "3.6.16", ""},
		"an upgrade from 3.4 to 3.5 is allowed": {"3.4.23", "3.4.23", "3.5.35", ""},
		"an unknown version is allowed":         {"", "", "3.6.16", ""},
		"3.6 requires 3.5.26 or newer":          {"3.5.25", "3.5.25", "3.6.16", "etcd's upgrade guide requires 3.5.26 or newer before 3.6. Upgrade to that version first."},
		"3.7 requires 3.6.11 or newer":          {"3.6.10", "3.6.10", "3.7.3", "etcd's upgrade guide requires 3.6.11 or newer before 3.7. Upgrade to that version first."},
		"3.7 is allowed from 3.6.11":            {"3.6.11", "3.6.11", "3.7.3", ""},
		"a jump of two minors is refused": {
			"3.4.30", "3.4.30", "3.6.16", "etcd is upgraded one minor version at a time. Set spec.version to the newest 3.5 before 3.6.16.",
		},
		"another major is refused": {
			"3.6.16", "3.6.16", "4.0.0", "The cluster runs 3.6.16, and etcd cannot change its major version. Set spec.version to 3.6.x.",
		},
		"halfway up, the lower version is allowed":                  {"3.5.35", "3.6.16", "3.5.35", ""},
		"halfway up, another patch of the lower version is allowed": {"3.5.35", "3.6.16", "3.5.34", ""},
		"halfway up, another patch of the upper version is allowed": {"3.5.35", "3.6.16", "3.6.15", ""},
		"halfway down, the upper version is allowed":                {"3.6.16", "3.7.3", "3.7.3", ""},
		"halfway up, the next minor version is refused":             {"3.5.35", "3.6.16", "3.7.3", "Members run 3.5.35 and 3.6.16. Set spec.version to one of these two. When all members run the same version, set it to 3.7.3."},
		"halfway up, an older minor version is refused":             {"3.5.35", "3.6.16", "3.4.23", "Members run 3.5.35 and 3.6.16. Set spec.version to one of these two. When all members run the same version, set it to 3.4.23."},
		"a downgrade from 3.7 to 3.6 is allowed":                    {"3.7.3", "3.7.3", "3.6.16", ""},
		"a downgrade from 3.6 to 3.5 is allowed":                    {"3.6.16", "3.6.16", "3.5.35", ""},
		"a downgrade to a version before 3.5.26 is refused":         {"3.6.16", "3.6.16", "3.5.20", "Downgrade to 3.5.26 or newer. From an older version the cluster could not be upgraded again."},
		"a downgrade of two minors is refused":                      {"3.7.3", "3.7.3", "3.5.35", "etcd is downgraded one minor version at a time. Set spec.version to the newest 3.6 before 3.5.35."},
		"a downgrade from 3.5 is refused":                           {"3.5.35", "3.5.35", "3.4.23", "The cluster runs 3.5.35, and 3.4.23 cannot read its data. Set spec.version back to 3.5.35."},
		"a downgrade from 3.6 to 3.4 is refused":                    {"3.6.16", "3.6.16", "3.4.23", "The cluster runs 3.6.16, and 3.4.23 cannot read its data. Set spec.version back to 3.6.16."},
		"a text that is no version is refused":                      {"3.6.16", "3.6.16", "newest", `Version "newest" is not a version of etcd. Correct spec.version.`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := state.UpgradeRefusal(test.lowest, test.highest, test.to); got != test.want {
				t.Errorf("upgradeRefusal(%q, %q, %q) = %q, want %q", test.lowest, test.highest, test.to, got, test.want)
			}
		})
	}
}
