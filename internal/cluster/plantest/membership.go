package plantest

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Ahead is a member whose Pod waits until etcd has added it.
func Ahead(m *state.Member) {
	*m = state.Member{Name: m.Name, Incarnation: 1, Volume: state.VolumePresent, VolumeUnused: true, Pod: state.PodStarting, PodImage: (&v1beta2.EtcdClusterSpec{}).Image(), Start: state.StartJoin, Waits: true, PodCreated: Noon, UnreadySince: Noon}
}

// Addressed means that its name resolves.
func Addressed(m *state.Member) { m.AddressSince = Noon.Add(-state.Publishing) }

// AddedAhead means that etcd has added the member, and its Pod still waits.
func AddedAhead(m *state.Member) { m.InMembership, m.Learner, m.ID = true, true, 4 }

// Create is the step that creates the i-th member before etcd has added it.
func Create(i int) steps.CreateMember {
	return steps.CreateMember{Name: NameOf(i), Incarnation: 1, Start: state.StartJoin, Waits: true}
}

// Asks means that the annotations ask for something.
func Asks(a state.Asked) Change { return func(s *state.State) { s.Asked = a } }

// OutOfService is a member that the client Service does not select.
func OutOfService(m *state.Member) { m.InService = false }

// NoClassMessage is what the status says while there is no default StorageClass.
const NoClassMessage = "Kubernetes has no default StorageClass, so a member gets no volume and does not start. " +
	"Mark a class as the default, or name one in spec.pod.persistentVolumeClaimSpec.storageClassName. " +
	"For tests, set spec.pod.emptyDir: {} and accept that data is lost with its Pod."

// Budgeted means that the PodDisruptionBudget is this one.
func Budgeted(b state.Budget) Change { return func(s *state.State) { s.Budget = b } }

// CannotMount is why a member does not start whose volume is attached to another node.
const CannotMount = "its volumes cannot be mounted: AttachVolume.Attach failed for volume pvc-1: rpc error"

// StuckLearner means that the volume of a new member cannot be attached to the node of its Pod.
func StuckLearner(d time.Duration) Change {
	return With(3, JustAdded, Pod(state.PodStarting), Volume(state.VolumePresent), UnreadyFor(d), Joining(4), func(m *state.Member) { m.Node, m.Unanswered = "node-4", CannotMount })
}

// GuestID is the member ID of Guest.
const GuestID = etcd.ID(0xf00)

// Guest is a foreign member that the operator first saw an hour ago.
func Guest(changes ...func(*state.ForeignMember)) Change {
	return func(s *state.State) {
		m := state.ForeignMember{ID: GuestID, Name: "guest", PeerURLs: []string{"http://10.0.0.5:2380"}, Started: true, Since: Noon.Add(-time.Hour)}
		for _, c := range changes {
			c(&m)
		}
		s.ForeignMembers = append(s.ForeignMembers, m)
	}
}

// WithoutVote is a foreign learner.
func WithoutVote(m *state.ForeignMember) { m.Learner = true }

// MayGo means that a person has consented to remove Guest.
func MayGo(s *state.State) { s.Asked.RemoveForeign = []string{GuestID.String()} }

// GuestLabel is how messages name Guest.
const GuestLabel = "0000000000000f00 (guest, http://10.0.0.5:2380)"

// Failures means that so many learners have failed in a row, the last one that long ago.
func Failures(n int32, ago time.Duration) Change {
	return func(s *state.State) { s.LearnerFailures, s.LearnerFailedAt = n, Noon.Add(-ago) }
}

// AllOutdated means that spec.pod or spec.TLS has changed, so every Pod is outdated.
func AllOutdated(s *state.State) {
	for i := range s.Members {
		s.Members[i].Outdated = true
	}
}

// UpToDate is a member whose Pod is as the spec asks.
func UpToDate(m *state.Member) { m.Outdated = false }

// Leads is the leader.
func Leads(m *state.Member) { m.Leader = true }

// IsDead is why a member is replaced.
const IsDead = "it has not served for 5m"

// VotersOf means that the record has the first n members as voters.
func VotersOf(n int) Change {
	return func(s *state.State) {
		s.KnownVoters = nil
		for i := range n {
			s.KnownVoters = append(s.KnownVoters, NameOf(i))
		}
	}
}

// ForeignVoters means that another party added n voters.
func ForeignVoters(n int) Change {
	return func(s *state.State) {
		for i := range n {
			s.ForeignMembers = append(s.ForeignMembers, state.ForeignMember{ID: etcd.ID(100 + i)})
		}
	}
}

// Removable means that a person has consented to remove the first two foreign voters.
func Removable(s *state.State) { s.Asked.RemoveForeign = []string{"64", "65"} }

// ForeignStopped means that an annotation states that the first two foreign voters have stopped.
func ForeignStopped(s *state.State) { s.Asked.StoppedForeign = []string{"64", "65"} }

// LostAnnotation means that a tool removed the annotation of a Pod that its member was added.
func LostAnnotation(m *state.Member) { m.Waits, m.Ran = true, true }
