package plantest

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// FencedBy means that a fence is on, of the restore with that UID.
func FencedBy(uid types.UID) Change {
	return func(s *state.State) {
		Accused(etcd.FenceID(uid))(s)
		if s.Restore != nil && s.Restore.UID == uid && s.Restore.Step == v1beta2.RestoreSwitching {
			s.Restore.LastRevision = 1 // as the status records it
		}
	}
}

// Restored means that a restore into incarnation 2 has reached a step.
func Restored(step v1beta2.RestoreStep) Change {
	return func(s *state.State) {
		s.Restore = &v1beta2.ClusterRestoreStatus{Name: "back", UID: "uid-back", Step: step, Incarnation: 2, ClusterIDBefore: s.ClusterID}
		switch step {
		case v1beta2.RestoreSwitching:
			s.Restore.ClusterID, s.Restore.Revision = SeedID, 1000000042
		case v1beta2.RestoreGrowing, v1beta2.RestoreComplete:
			s.Restore.ClusterID, s.Restore.Revision = SeedID, 1000000042
			s.ClusterID, s.Incarnation = SeedID, 2
			ServicesFor(2, SeedID)(s)
			s.Services.ClientRestoreUID = "uid-back"
		}
	}
}

// Asked means that EtcdRestore back exists and is verified.
func Asked(s *state.State) {
	s.Request = &state.RestoreRequest{Name: "back", UID: "uid-back", Revision: 42}
}

// SeedName is the name of the first member of the incarnation that the restore creates.
var SeedName = state.MemberName("example", "uid-example", 2, 0)

// ASeed adds the first member of the incarnation that the restore creates.
func ASeed(changes ...func(*state.Member)) Change {
	return func(s *state.State) {
		m := state.Member{Name: SeedName, Incarnation: 2}
		for _, c := range changes {
			c(&m)
		}
		s.Members = append(s.Members, m)
	}
}

// Serving means that the seed serves, and its data is proven.
func Serving(m *state.Member) {
	OnVolume(m)
	m.Start, m.Seed = state.StartSeed, &state.Seed{}
	m.Answers, m.Serving, m.PodReady, m.InService, m.Version = true, true, true, true, "3.6.16"
	m.ClusterID, m.ID, m.Revision = 0xbb, 77, 1000000042
}

// Stopped means that the Pods of the old members are deleted.
func Stopped(s *state.State) {
	for i := range s.Members {
		if s.Members[i].Incarnation == 1 {
			WithoutPod(&s.Members[i])
		}
	}
	s.MembershipKnown = false
}

// RefusesOperator means that the seed was started with the CA before, and runs for d. Its Pod is ready, because it needs no other member.
func RefusesOperator(d time.Duration) func(*state.Member) {
	return func(m *state.Member) {
		Serving(m)
		m.SecurePeer, m.SecureClient, m.Trust, m.Loaded = true, true, "old", "certificates"
		m.Answers, m.Serving, m.RaftIndex, m.EtcdSince, m.SilentSince, m.Unanswered = false, false, 10, Noon.Add(-d), Noon.Add(-d), "tls: bad certificate"
		m.Seed.DoneAt = Noon.Add(-d)
	}
}

// Aside means that a volume was set aside that long ago.
func Aside(name string, ago time.Duration) Change {
	return func(s *state.State) {
		s.SetAside = append(s.SetAside, state.SetAside{Name: name, Since: Noon.Add(-ago)})
	}
}

// Begins is the step that begins a restore.
func Begins(name string, uid string) steps.BeginRestore {
	return steps.BeginRestore{Restore: v1beta2.ClusterRestoreStatus{
		Name: name, UID: "uid-back", Step: v1beta2.RestoreSeeding, Message: "The operator is restoring a seed. The members continue to serve.",
		Incarnation: 2, ClusterIDBefore: OldID,
	}}
}
