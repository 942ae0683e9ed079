package v1beta2

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FollowSpec makes the EtcdCluster of an EtcdRestore a standby of another cluster.
type FollowSpec struct {
	// Promotion of the standby. Planned waits until the source has ended its archive, see continuous.switchover of the EtcdBackup, and then makes the standby
	// the cluster with all writes and the same revisions. Now makes it the cluster at once, with all that the archive has in the store: writes that were not
	// archived yet are lost, and revisions are higher by revisionBump. Planned can be changed to Now. Default: the standby follows.
	// +optional
	Promote FollowPromotion `json:"promote,omitempty"`
}

// FollowPromotion is how a standby becomes the cluster.
//
// +kubebuilder:validation:Enum=Now;Planned
type FollowPromotion string

const (
	// FollowPromoteNow serves what the standby has. The source is not asked.
	FollowPromoteNow FollowPromotion = "Now"
	// FollowPromotePlanned serves all that the source has acknowledged. The source has stopped before.
	FollowPromotePlanned FollowPromotion = "Planned"
)

// FollowStatus is how far a standby has followed the continuous archive of its source.
type FollowStatus struct {
	// Number of the timeline of the archive.
	// +optional
	Timeline int64 `json:"timeline,omitempty"`
	// Last revision that the standby has. It is absent until it has read its first snapshot.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// Time before which the source wrote that revision.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// Seconds that the standby is behind the archive, rounded down to 10 seconds, or to minutes from one minute on. The archive is behind the source by up to its
	// maxLag.
	// +optional
	LagSeconds *int64 `json:"lagSeconds,omitempty"`
	// Why the archive cannot be followed any further: NewTimeline, Gap, Missing, UsersChanged, Damaged, Unreadable or Replaced. It is empty if it can. The
	// standby begins again when the archive has a newer snapshot, but not after Replaced.
	// +optional
	Cause string `json:"cause,omitempty"`
	// Why the last step of the standby failed. It is empty if it did not.
	// +optional
	Message string `json:"message,omitempty"`
	// Time at which the operator last changed the revision, the time, the lag or the message here.
	// +optional
	UpdateTime *metav1.Time `json:"updateTime,omitempty"`
	// Promotion that has begun. It is empty while the standby follows.
	// +optional
	Promote FollowPromotion `json:"promote,omitempty"`
	// What the standby had at its promotion. Writes of the source after it are not in this cluster.
	// +optional
	Promoted *PromotedStatus `json:"promoted,omitempty"`
}

// PromotedStatus is what a standby had at its promotion.
type PromotedStatus struct {
	// Number of the timeline of the archive.
	Timeline int64 `json:"timeline"`
	// Last revision of the source that the standby had. After promote: Now, the revision of the new cluster is higher by revisionBump.
	Revision int64 `json:"revision"`
	// Whether the source had stopped before, so that no write is lost and the revisions are the same.
	// +optional
	Planned bool `json:"planned,omitempty"`
	// Time before which the source wrote that revision.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}

// RestoreFollowStatus says which archive the standby of an EtcdRestore follows, and how far it is.
type RestoreFollowStatus struct {
	// Folder of the snapshots of the source, and how to reach it.
	Source RestoreSource `json:"source"`
	// Source as "<namespace>/<name>", by the names of its snapshots.
	Cluster string `json:"cluster"`
	// UID of the EtcdCluster that was archived. Snapshots of another one with the same name are not followed. It is empty if the snapshot does not have it.
	// +optional
	ClusterUID string `json:"clusterUID,omitempty"`
	// ID of the etcd cluster of the verified snapshot, 16 hex digits.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// select.clusterID of the spec. It is empty if any cluster ID of the source is followed.
	// +optional
	OnlyClusterID string `json:"onlyClusterID,omitempty"`

	FollowStatus `json:",inline"`
}

// Lags of a standby.
const (
	// FollowLagLimit is from when on a standby counts as behind.
	FollowLagLimit = 30 * time.Second
	// FollowUpdateInterval is how often the status of a standby changes at most.
	FollowUpdateInterval = 10 * time.Second
)
