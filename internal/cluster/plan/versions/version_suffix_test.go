package versions_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// registry is a cluster as kubeadm and registry.k8s.io write its version. Its members report the version of etcd.
func registry(spec, runs string) plantest.Change {
	return func(s *state.State) {
		s.Spec.Version, s.Spec.Repository, s.Spec.ImagePolicy = spec, "registry.k8s.io/etcd", &v1beta2.ImagePolicy{Tag: "{version}"}
		s.KnownVersion = runs
		for i := range s.Members {
			s.Members[i].Version, s.Members[i].PodImage = runs, "registry.k8s.io/etcd:"+runs+"-0"
		}
	}
}

func TestAVersionWithTheSuffixOfARegistryIsTheVersionThatMembersReport(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), registry("3.6.16-0", "3.6.16"))
	if step := plan.Plan(s); step != (steps.Done{}) {
		t.Errorf("the plan is %#v, want Done", step)
	}
	status := plan.NewStatus(s, plan.Plan(s), nil, v1beta2.EtcdClusterStatus{}, 1)
	if status.CurrentVersion != "3.6.16" || status.TargetVersion != "" {
		t.Errorf("the versions in the status are %q and %q", status.CurrentVersion, status.TargetVersion)
	}
}

func TestVersionsWithTheSuffixOfARegistryAreUpgradedAndDowngraded(t *testing.T) {
	for _, test := range []struct{ spec, runs, image, refused string }{
		{spec: "3.6.16-0", runs: "3.6.15", image: "registry.k8s.io/etcd:3.6.16-0"},
		{spec: "3.6.15-1", runs: "3.6.16", image: "registry.k8s.io/etcd:3.6.15-1"},
		{spec: "3.6.16-0", runs: "3.5.30", image: "registry.k8s.io/etcd:3.6.16-0"},
		{spec: "3.7.3-0", runs: "3.5.30", image: "registry.k8s.io/etcd:3.5.30-0", refused: "etcd is upgraded one minor version at a time. Set spec.version to the newest 3.6 before 3.7.3."},
		{spec: "3.6.10-0", runs: "3.7.3", image: "registry.k8s.io/etcd:3.7.3-0", refused: "Downgrade to 3.6.11 or newer. From an older version the cluster could not be upgraded again."},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), registry(test.spec, test.runs))
		lowest, highest := state.Versions(s)
		if got := state.RefusedUpgrade(s, lowest, highest, s.Spec.EtcdVersion()); got != test.refused {
			t.Errorf("%s to %s: the refusal is %q, want %q", test.runs, test.spec, got, test.refused)
		}
		if test.refused == "" {
			s.VersionChange = &v1beta2.VersionChangeStatus{To: state.Minor(s.Spec.EtcdVersion()), Step: v1beta2.VersionChangeReady}
		}
		if got := s.ImageFor(s.Incarnation); got != test.image {
			t.Errorf("%s to %s: a recreated member runs %s, want %s", test.runs, test.spec, got, test.image)
		}
	}
}

// A restore waited without end, because the seed reported 3.6.16 and the spec had 3.6.16-0.
func TestARestoreIntoAVersionWithTheSuffixOfARegistryBegins(t *testing.T) {
	for name, version := range map[string]string{"with the suffix of a registry": "3.6.16-0", "without": "3.6.16"} {
		begun := plan.Plan(plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Asked, registry(version, "3.6.16"), func(s *state.State) { s.Request.StorageVersion = "3.6.0" }))
		if plain := plan.Plan(plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Asked, func(s *state.State) { s.Request.StorageVersion = "3.6.0" })); begun != plain {
			t.Errorf("%s: the restore begins with %#v, want %#v", name, begun, plain)
		}
	}
}
