package plan

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

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
	// ClientName is the common name of the clients' certificate, if the operator has it issued.
	ClientName string
	// NamedClients: the clients' certificate covers ClientHostname already. It keeps the name, because members may check it.
	NamedClients bool
	// Certificates of members and clients.
	Certificates Certificates

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
	obstructed []obstruction
	// Replacements of lost members in all EtcdClusters.
	Replacements Replacements
	// SetAside are the volumes with data that a restore or a recovery replaced, sorted by name. They are no Members.
	SetAside []SetAside
	// Members of all incarnations, sorted by name: the union of Pods, volumes and membership.
	Members []Member
}

// RestoreRequest is a verified EtcdRestore.
type RestoreRequest struct {
	Name   string
	UID    types.UID
	Source v1beta2.RestoreSource
	// SignedURL is the name of the Secret with a signed URL of the object, empty for none.
	SignedURL string
	SHA256    string
	// Size in bytes of the object, PlainSize of the snapshot in it where that is another, and the Revision in it.
	Size, PlainSize, Revision int64
	RevisionBump              int64
	// SpecHash of the EtcdRestore, and Created, when it was created.
	SpecHash string
	Created  metav1.Time
	// StorageVersion of the snapshot, empty for etcd older than 3.6.
	StorageVersion string
	// Safety is the policy of the safety snapshot, empty for none. Saved is what became of it, nil while that is open.
	Safety v1beta2.SafetySnapshotPolicy
	Saved  *v1beta2.SafetySnapshotStatus
	// SavedFor is the time of Saved as it is stored. It tells which request it answers, so it is not corrected.
	SavedFor time.Time
	// Archived is the newest revision of the old cluster that a continuous archive has, as restore-operator reports it; 0 for none.
	Archived int64
}

// Services says how the two Services stand.
type Services struct {
	// HeadlessCurrent: the Service of the members' DNS names is there and as it should be.
	HeadlessCurrent bool
	// WithoutUID: the selectors do not name the EtcdCluster's UID.
	WithoutUID bool
	// ClientExists: the Service for clients is there.
	ClientExists bool
	// ClientCurrent: it is as it should be for ClientIncarnation.
	ClientCurrent bool
	// ClientUnready: it selects members whose Pods are not ready, too.
	ClientUnready bool
	// TrafficDropped: this Kubernetes dropped spec.service.trafficDistribution from it.
	TrafficDropped bool
	// ClientIncarnation is the incarnation that it selects.
	ClientIncarnation int32
	// ClientClusterID is the cluster ID written on it.
	ClientClusterID string
	// ClientRestoreUID is the UID written on it of the EtcdRestore that made the incarnation.
	ClientRestoreUID types.UID
}

// NewState is what the EtcdCluster itself says; what Kubernetes holds and etcd answers is added to it.
func NewState(cluster *v1beta2.EtcdCluster) State {
	s := State{
		Namespace:    cluster.Namespace,
		Name:         cluster.Name,
		UID:          cluster.UID,
		Spec:         *cluster.Spec.DeepCopy(),
		Deleting:     !cluster.DeletionTimestamp.IsZero(),
		ClusterID:    cluster.Status.ClusterID,
		Incarnation:  cluster.Status.Incarnation,
		Restore:      cluster.Status.Restore.DeepCopy(),
		Recovery:     cluster.Status.Recovery.DeepCopy(),
		LastRecovery: cluster.Status.LastRecovery.DeepCopy(),

		CancelledSurvivors: slices.Clone(cluster.Status.CancelledSurvivors),
		PastRestores:       slices.Clone(withEarlier(cluster.Status.PastRestores, cluster.Status.Restore, time.Time{})),
		KnownVersion:       cluster.Status.CurrentVersion,

		VersionChange: cluster.Status.VersionChange.DeepCopy(),
		PodFailures:   slices.Clone(cluster.Status.PodFailures),

		Space:           cluster.Status.Space.DeepCopy(),
		Defragmentation: cluster.Status.Defragmentation.DeepCopy(),
		Defragmented:    defragmented(cluster.Status.MemberStatuses),
	}
	s.Promoting, s.ForeignMembers, s.Asked = cluster.Status.PromotingMember, knownForeign(cluster.Status), NewAsked(cluster.Annotations)
	s.Removing, s.KnownIDs = cluster.Status.RemovingMember, knownIDs(cluster.Status)
	s.KnownVolumes, s.Accused = knownVolumes(cluster.Status), accusedIn(cluster.Status)
	s.LearnerFailures = cluster.Status.LearnerFailures
	if s.Restore != nil && s.Restore.SeedReadyTime != nil {
		s.SeedReadySince = s.Restore.SeedReadyTime.Time
	}
	if at := cluster.Status.LearnerFailedAt; at != nil {
		s.LearnerFailedAt = at.Time
	}
	for _, m := range cluster.Status.MemberStatuses {
		s.KnownDBSize = max(s.KnownDBSize, m.DBSize)
		if m.Role == v1beta2.MemberLeader || m.Role == v1beta2.MemberVoter {
			s.KnownVoters = append(s.KnownVoters, m.Name)
		}
		if m.Role == v1beta2.MemberLearner {
			s.KnownLearners = append(s.KnownLearners, m.Name)
		}
	}
	if s.Promoting != "" && len(s.KnownVoters) > 0 && !slices.Contains(s.KnownVoters, s.Promoting) {
		s.KnownVoters = append(s.KnownVoters, s.Promoting)
	}
	return s
}

// RecogniseFormed takes the cluster's ID from the client Service where the status was lost (a CR restored from a
// file, say): the Service remembers that the cluster has formed.
func (s *State) RecogniseFormed() {
	if s.ClusterID == "" && s.Services.ClientClusterID != "" {
		s.ClusterID, s.Incarnation = s.Services.ClientClusterID, s.Services.ClientIncarnation
		if s.Restore == nil {
			s.recogniseRestore()
		}
	}
}

// recogniseRestore takes from the client Service which EtcdRestore made the incarnation, so that it is not run again.
func (s *State) recogniseRestore() {
	if uid := s.Services.ClientRestoreUID; uid != "" {
		s.Restore = &v1beta2.ClusterRestoreStatus{
			UID: uid, Step: v1beta2.RestoreGrowing, Incarnation: s.Incarnation, ClusterID: s.ClusterID,
			Message: "The status was lost. The operator recognised the restore by the client Service.",
		}
	}
}

// madeBy is the UID of the EtcdRestore that made the incarnation; empty for one that was bootstrapped. The client
// Service still knows when the status tells of a later restore.
func (s State) madeBy() types.UID {
	switch {
	case !s.Formed():
		return ""
	case s.Restore != nil && s.Restore.Incarnation == s.Incarnation && s.step() != v1beta2.RestoreFailed:
		return s.Restore.UID
	case s.Services.ClientIncarnation == s.Incarnation:
		return s.Services.ClientRestoreUID
	}
	return ""
}

// Enroll joins the membership, as a quorum of the current incarnation told it, with the Pods and volumes. A member
// that has not started may have no name in etcd; its peer URL tells which it is.
func (s *State) Enroll(membership []etcd.Member) {
	s.MembershipKnown = true
	at := make(map[string]int, len(s.Members))
	for i, m := range s.Members {
		at[m.Name] = i
	}
	known := s.ForeignMembers
	s.ForeignMembers = nil
	for _, entry := range membership {
		name := s.nameOf(entry)
		i, ok := at[name]
		var there *Member
		if ok {
			there = &s.Members[i]
		}
		if s.addedByOthers(entry, there) {
			s.recordForeign(entry, known)
			continue
		}
		if !ok {
			i = len(s.Members)
			s.Members = append(s.Members, Member{Name: name, Incarnation: max(s.Incarnation, FirstIncarnation)})
		}
		m := &s.Members[i]
		m.InMembership = true
		m.ID = entry.ID
		m.Learner = entry.Learner
		m.Started = len(entry.ClientURLs) > 0
	}
}

// MemberOf is a member's name: its own word, or the first label of its peer URL's host.
func MemberOf(entry etcd.Member) string {
	if entry.Name != "" || len(entry.PeerURLs) == 0 {
		return entry.Name
	}
	_, host, _ := strings.Cut(entry.PeerURLs[0], "://")
	name, _, _ := strings.Cut(host, ".")
	return name
}

// Formed says whether the cluster has ever come to life. A formed cluster is never bootstrapped again.
func (s State) Formed() bool { return s.ClusterID != "" }

// Current are the members of the current incarnation.
func (s State) Current() []Member { return s.incarnation(s.Incarnation) }

func (s State) incarnation(n int32) []Member {
	return s.where(func(m Member) bool { return m.Incarnation == n })
}

// where are the members that keep says yes to. It is a new slice: a rule that filters it in place, or sorts it, must not change the State for the rules
// after it.
func (s State) where(keep func(Member) bool) []Member {
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

// Voters counts the current membership.
func (s State) Voters() etcd.Voters {
	var v etcd.Voters
	for _, m := range s.Current() {
		if !m.InMembership || m.Learner {
			continue
		}
		v.Total++
		if m.Serving {
			v.Healthy++
		}
	}
	if s.MembershipKnown {
		v = s.withForeignVoters(v)
	}
	return v
}

// PodPolicy is spec.pod, empty if the spec has none.
func (s State) PodPolicy() v1beta2.PodPolicy {
	if s.Spec.Pod == nil {
		return v1beta2.PodPolicy{}
	}
	return *s.Spec.Pod
}
