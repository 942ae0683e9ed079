package plantest

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// Data gives every member a storage version, and the target version of a downgrade in progress.
func Data(storage, downgrade string) Change {
	return func(s *state.State) {
		for i := range s.Members {
			s.Members[i].StorageVersion, s.Members[i].Downgrade, s.Members[i].AppliedIndex = storage, downgrade, 40
		}
	}
}

// PreparedFor means that a change of the version has reached a step.
func PreparedFor(to string, step v1beta2.VersionChangeStep) Change {
	return func(s *state.State) { s.VersionChange = &v1beta2.VersionChangeStatus{To: to, Step: step, Index: 40} }
}

// Running is a member of a version whose data has that version, too.
func Running(v string) func(*state.Member) {
	return func(m *state.Member) {
		WithImage(v)(m)
		m.StorageVersion = state.Minor(v) + ".0"
	}
}

// AllRun means that all members run the version of the spec.
func AllRun(v string) Change {
	return func(s *state.State) {
		s.Spec.Version = v
		for i := range s.Members {
			s.Members[i].Version, s.Members[i].PodImage = v, s.Spec.Image()
		}
	}
}

// EveryImage means that all members have the image of a version.
func EveryImage(v string) Change {
	return func(s *state.State) {
		s.KnownVersion = v
		for i := range s.Members {
			WithImage(v)(&s.Members[i])
		}
	}
}

// Outdated is a member whose Pod is not as the spec asks.
func Outdated(m *state.Member) { m.Outdated = true }

// Storage means that the data of all members has that version.
func Storage(version string) Change {
	return func(s *state.State) {
		for i := range s.Members {
			s.Members[i].StorageVersion = version
		}
	}
}

// Runs sets the version that all members run.
func Runs(version string) Change {
	return func(s *state.State) {
		s.KnownVersion, s.Spec.Version = version, version
		for i := range s.Members {
			s.Members[i].Version, s.Members[i].PodImage = version, v1beta2.DefaultRepository+":v"+version
		}
	}
}
