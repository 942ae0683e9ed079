// Package state is what a decision of cluster-operator may look at, and what follows from it without deciding.
//
// A State is plain data: one EtcdCluster, what Kubernetes holds for it, and what its members report. The functions of this package answer
// questions about a State that several concepts of the plan ask. They name no step. The package imports no client, no context and no clock.
package state

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

// Find returns a member by its name.
func Find(s State, name string) (Member, bool) {
	for _, m := range s.Members {
		if m.Name == name {
			return m, true
		}
	}
	return Member{Name: name}, false
}

// IDForClients is the cluster ID that is to be written on the client Service. A cluster never changes its ID, so if the
// Service has another one for this incarnation, one of the two is wrong, and the members decide which.
func IDForClients(s State) string {
	if written := s.Services.ClientClusterID; written != "" && s.Formed() && s.Services.ClientIncarnation == s.Incarnation && !s.ClusterIDProven {
		return written
	}
	return s.ClusterID
}

// State is all that a decision may look at: one EtcdCluster, what Kubernetes holds for it, and what its members
// say. It is plain data: it prints as JSON, and Plan of the same State is the same Step.
type State struct {
	// Now is when all of this was seen. ServerAhead is how far the clock of the API server is ahead of that. It is 0 if they agree, or if
	// that is not known.
	Now             time.Time
	ServerAhead     time.Duration
	Namespace, Name string
	UID             types.UID
	Spec            v1beta2.EtcdClusterSpec
	Deleting        bool

	// ClusterID and Incarnation are the facts that cannot be observed again. ClusterID is empty until the
	// cluster has formed; Incarnation is 0 until then.
	ClusterID   string
	Incarnation int32
	// ClusterIDProven: a quorum of the members answered with ClusterID.
	ClusterIDProven bool
	// Corrected are sentences on what of the status was replaced by what members and Services show.
	Corrected []string
	// Restore is the restore that the cluster took up last, nil when there was none.
	Restore *v1beta2.ClusterRestoreStatus
	// PastRestores are those that the cluster carried out.
	PastRestores []v1beta2.PastRestore
	// Recovery is the recovery from a lost quorum that was begun last, nil when there was none.
	Recovery *v1beta2.ClusterRecoveryStatus
	// LastRecovery is the last one whose survivor may have started alone, as the status remembers it.
	LastRecovery *v1beta2.PastRecovery
	// CancelledSurvivors may have data that is a cluster of its own.
	CancelledSurvivors []v1beta2.CancelledSurvivor
	// Restores are the UIDs of all EtcdRestores of the cluster.
	Restores []types.UID
	// FencedAt is the last revision that etcd answered to a fence in this pass; 0 for none.
	FencedAt int64
	// RestoreUnverified: the EtcdRestore under way exists and is neither verified nor failed. Its status was lost.
	RestoreUnverified bool
	// RestoreFailed: the EtcdRestore under way exists and has failed.
	RestoreFailed bool
	// Request is the verified EtcdRestore to take up or being worked on, nil when there is none.
	Request *RestoreRequest
	// RestorePending names an EtcdRestore of this cluster that is neither finished nor verified yet.
	RestorePending string
	// RestoredVolumes are the claims from which EtcdRestores restore that have not ended, into this EtcdCluster or another one.
	RestoredVolumes []string
	// SourceClaim is the UID of the claim that has the name of the one from which a seed is restored; empty if there is none, and nil if it was not read.
	SourceClaim *types.UID
	// RestoreProgress changes while restore-operator works on that EtcdRestore.
	RestoreProgress int64

	Services Services
	Budget   Budget
	// NetworkPolicy is the one that limits who connects to the members.
	NetworkPolicy NetworkPolicy
	// MetadataDue are the objects whose labels and annotations are not those of spec.metadata.
	MetadataDue []MetadataDue
	// Foreign are objects that have a name which the cluster needs, and belong to something else.
	Foreign []ForeignObject
	// NoStorageClass: a volume would need the default StorageClass, and there is none.
	NoStorageClass bool
	// VolumeTemplateProblem says why the API server refuses a volume of the spec's template. It is empty if all is well.
	VolumeTemplateProblem string
	// PodProblem says why a Pod of the spec could not take the place of a member's Pod, and what to do. It is empty if all is well, or if no
	// dry run has told yet.
	PodProblem string
	// AllowedIssuers of cert-manager are those that the administrator allows beside the Issuers of the namespace.
	AllowedIssuers []AllowedIssuer
	// CertificateDomains are the DNS domains outside of Kubernetes in which cert-manager may be asked for names.
	CertificateDomains []string
	// MoreDefects of etcd are those that the administrator has added to the ones that the operator knows.
	MoreDefects []etcdversion.Defect
	// SecretProblem says which TLS Secret is missing or wrong, and is empty when all is well.
	SecretProblem string
	// Authentication is who the operator is to etcd.
	Authentication Authentication
	// Accounts are users and roles in etcd, and AccountRecord is what the status says of them.
	Accounts      Accounts
	AccountRecord v1beta2.AuthStatus
	// ClientName is the common name of the clients' certificate, if the operator has it issued.
	ClientName string
	// NamedClients: the clients' certificate covers ClientHostname already. It keeps the name, because members may check it.
	NamedClients bool
	// Certificates of members and clients.
	Certificates     Certificates
	UserCertificates UserCertificates
	// RequestedUsers are the users for which the status says that a Certificate of cert-manager was requested.
	RequestedUsers []string

	// KnownVoters names the voters that the cluster had when it last answered; empty when that is not known.
	KnownVoters []string
	// Witness is the member whose membership KnownVoters is from, because no quorum answers; empty if it is the record of the status.
	Witness string
	// RecordCorrected says why the record of the status was not used; empty if it agrees with the witness.
	RecordCorrected string
	// Dispute is what the record and the members know, if they differ and neither outranks the other.
	Dispute *Dispute
	// KnownLearners names the learners of that record.
	KnownLearners []string
	// IncarnationCorrected: the status had another incarnation, so what it says about members is about others.
	IncarnationCorrected bool
	// ClusterDomain is the DNS domain of the Kubernetes cluster; empty if not known.
	ClusterDomain string
	// Promoting names the learner that is given its vote, or the voter that is added. It may vote already.
	Promoting string
	// Removing names the voter that is being removed. It may have no vote any more.
	Removing string
	// Accused are the members that the CORRUPT alarms named while they were members.
	Accused []etcd.ID
	// KnownIDs are the IDs that members had when a quorum last answered, by name.
	KnownIDs map[string]etcd.ID
	// KnownVolumes are the volumes that members were last seen to serve on, by name.
	KnownVolumes map[string]VolumeID
	// ForeignMembers are those that the operator did not add, as a quorum last answered.
	ForeignMembers []ForeignMember
	// Asked is what annotations on the EtcdCluster ask for.
	Asked Asked
	// VersionChange is what the members' data is prepared for, nil for nothing.
	VersionChange *v1beta2.VersionChangeStatus
	// Space is what was done last because members had used up their space quota, nil for nothing.
	Space *v1beta2.SpaceStatus
	// Defragmentation is how far the schedule of defragmentation is, nil without one. Defragmented is when members
	// were defragmented last, by name.
	Defragmentation *v1beta2.DefragmentationStatus
	Defragmented    map[string]time.Time
	// LearnerFailures counts learners that did not catch up, in a row; the last of them was removed at LearnerFailedAt.
	LearnerFailures int32
	LearnerFailedAt time.Time
	// SeedReadySince is when the operator asked for a safety snapshot. Restore.SeedReadyTime is the same time as it is stored: it names the request,
	// and only its answer is compared with it.
	SeedReadySince time.Time
	// KnownDBSize is the largest database that a member had when it last answered, in bytes.
	KnownDBSize int64
	// KnownVersion is the lowest version that a member ran when all of them last answered, or that one said since;
	// empty before.
	KnownVersion string
	// MembershipKnown: a quorum of the current incarnation answered with the membership.
	MembershipKnown bool
	// PodFailures are the members whose Pods failed in a row.
	PodFailures []v1beta2.PodFailure
	// Held are the steps that have no effect and are not to be repeated now.
	Held []Held
	// Waiting is what the operator waits for, and since when.
	Waiting Waiting
	// obstructed are the steps that were refused in this pass.
	Obstructed []Obstruction `json:"-"`
	// Replacements of lost members in all EtcdClusters.
	Replacements Replacements
	// SetAside are the volumes with data that a restore or a recovery replaced, sorted by name. They are no Members.
	SetAside []SetAside
	// Members of all incarnations, sorted by name: the union of Pods, volumes and membership.
	Members []Member
}

// RecogniseFormed takes the cluster's ID from the client Service where the status was lost (a CR restored from a
// file, say): the Service remembers that the cluster has formed.
func RecogniseFormed(s *State) {
	if s.ClusterID == "" && s.Services.ClientClusterID != "" {
		s.ClusterID, s.Incarnation = s.Services.ClientClusterID, s.Services.ClientIncarnation
		if s.Restore == nil {
			RecogniseRestore(s)
		}
	}
}

// RecogniseRestore takes from the client Service which EtcdRestore made the incarnation, so that it is not run again.
func RecogniseRestore(s *State) {
	if uid := s.Services.ClientRestoreUID; uid != "" {
		s.Restore = &v1beta2.ClusterRestoreStatus{
			UID: uid, Step: v1beta2.RestoreGrowing, Incarnation: s.Incarnation, ClusterID: s.ClusterID,
			Message: "The status was lost. The operator recognised the restore by the client Service.",
		}
	}
}

// Formed says whether the cluster has ever come to life. A formed cluster is never bootstrapped again.
func (s State) Formed() bool { return s.ClusterID != "" }

// Current are the members of the current incarnation.
func (s State) Current() []Member { return OfIncarnation(s, s.Incarnation) }

// OfIncarnation are the members of an incarnation.
func OfIncarnation(s State, n int32) []Member {
	return s.Where(func(m Member) bool { return m.Incarnation == n })
}

// Where are the members that keep says yes to. It is a new slice: a rule that filters it in place, or sorts it, must not change the State for the rules
// after it.
func (s State) Where(keep func(Member) bool) []Member {
	var kept []Member
	for i := range s.Members {
		if !keep(s.Members[i]) {
			continue
		}
		if kept == nil {
			kept = make([]Member, 0, len(s.Members)-i)
		}
		kept = append(kept, s.Members[i])
	}
	return kept
}

// PodPolicy is spec.pod, empty if the spec has none.
func (s State) PodPolicy() v1beta2.PodPolicy {
	if s.Spec.Pod == nil {
		return v1beta2.PodPolicy{}
	}
	return *s.Spec.Pod
}

// bySource returns the States to decide in that a quorum is lost: one for the record, and one for what members know.
func bySource(s State) []State {
	if s.Dispute == nil {
		return []State{s}
	}
	recorded, applied := s, s
	recorded.KnownVoters, recorded.Dispute = s.Dispute.Recorded, nil
	applied.KnownVoters, applied.Dispute = s.Dispute.Applied, nil
	applied.Promoting, applied.Removing = "", ""
	return []State{recorded, applied}
}
