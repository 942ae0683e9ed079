package v1beta2

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MaxPastRestores is how many restores an EtcdCluster remembers.
const MaxPastRestores = 20

// PastRestore is an EtcdRestore that the cluster carried out.
type PastRestore struct {
	// Name of the EtcdRestore.
	Name string `json:"name"`
	// UID of the EtcdRestore.
	UID types.UID `json:"uid"`
	// Hash of the spec of the EtcdRestore, without replaces, safetySnapshot and ttlSecondsAfterFinished.
	// +optional
	SpecHash string `json:"specHash,omitempty"`
	// Time at which the EtcdRestore was created. An EtcdRestore that is older is refused from then on, unless its
	// spec.replaces allows it.
	// +optional
	CreationTime *metav1.Time `json:"creationTime,omitempty"`
	// Time at which the restored data took over.
	Time metav1.Time `json:"time"`
	// ID of the etcd cluster that the restore made, 16 hex digits.
	ClusterID string `json:"clusterID"`
	// Path of the snapshot of the data before the restore, "<bucket>/<key>". It is empty if none was taken.
	// +optional
	SafetySnapshot string `json:"safetySnapshot,omitempty"`
}

// specHashLength is the number of hex digits of a hash of a spec.
const specHashLength = 16

// Hash identifies what the spec restores. Two EtcdRestores with the same hash restore the same, whenever they may do so.
// A field that a later release adds with a default must be left out, so that the hashes in the status remain valid.
func (s EtcdRestoreSpec) Hash() string {
	s.Replaces, s.TTLSecondsAfterFinished, s.SafetySnapshot = "", nil, ""
	if s.Follow != nil { // promote is set later
		s.Follow = &FollowSpec{}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return "" // no spec that the API accepts
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:specHashLength]
}

// RefuseRestore returns why a cluster does not carry out an EtcdRestore that it has not begun, and an empty string if it
// does. A cluster without an ID refuses none: it has no data that a restore could replace.
func RefuseRestore(clusterID string, past []PastRestore, restore *EtcdRestore) string {
	if clusterID == "" {
		return ""
	}
	cluster, replaces := restore.Spec.EtcdCluster.Name, restore.Spec.Replaces
	if restore.Spec.Follows() {
		return fmt.Sprintf("follow needs an EtcdCluster that has never formed, and EtcdCluster %s has the ID %s. Nothing was changed. Delete this EtcdRestore, and create it with the name of an EtcdCluster that does not exist yet.", cluster, clusterID)
	}
	advice := fmt.Sprintf("Nothing was changed. To replace the present data with the snapshot, delete this EtcdRestore and create it again with spec.replaces: %q, the present status.clusterID of the EtcdCluster.", clusterID)
	if replaces != "" && replaces != clusterID {
		return fmt.Sprintf("spec.replaces is %s, but EtcdCluster %s has the ID %s: it was restored or created again since this EtcdRestore was written. %s", replaces, cluster, clusterID, advice)
	}
	if replaces != "" {
		return ""
	}
	hash := restore.Spec.Hash()
	for _, p := range past {
		if p.Name == restore.Name && p.UID != restore.UID && p.SpecHash == "" {
			return fmt.Sprintf("EtcdCluster %s carried out an EtcdRestore of this name before %s, and became etcd cluster %s. Its spec was not recorded. A repetition would remove all data that was written since. %s",
				cluster, p.Time.UTC().Format(time.RFC3339), p.ClusterID, advice)
		}
		if p.UID == restore.UID || p.Name == restore.Name && p.SpecHash == hash {
			return fmt.Sprintf("EtcdCluster %s carried out an EtcdRestore of this name and spec at %s, and became etcd cluster %s. A repetition would remove all data that was written since. %s",
				cluster, p.Time.UTC().Format(time.RFC3339), p.ClusterID, advice)
		}
	}
	if p := newerThan(restore, past); p != nil && !restore.Spec.DryRun {
		return fmt.Sprintf("This EtcdRestore was created at %s. EtcdRestore %s is newer: EtcdCluster %s carried it out at %s, and became etcd cluster %s. The older one would now remove all data that was written since. %s",
			restore.CreationTimestamp.UTC().Format(time.RFC3339), p.Name, cluster, p.Time.UTC().Format(time.RFC3339), p.ClusterID, advice)
	}
	return ""
}

// newerThan returns the last restore carried out whose EtcdRestore was created later, or nil. A forgotten EtcdRestore, for
// example one that waited for its Secret, must not replace the data of a later one. An entry of an earlier version has no
// time of creation, so the time counts at which its data took over.
func newerThan(restore *EtcdRestore, past []PastRestore) *PastRestore {
	for i := len(past) - 1; i >= 0; i-- {
		created := past[i].CreationTime
		if created == nil {
			created = &past[i].Time
		}
		if restore.CreationTimestamp.Before(created) {
			return &past[i]
		}
	}
	return nil
}

// A cluster carries out one EtcdRestore at a time. cluster-operator begins the first one in this order that may begin, and restore-operator names it
// in the status of those that wait. So both ask here.

// CompareRestores orders the EtcdRestores of a cluster: the oldest is first. If two are of the same second, their names decide.
func CompareRestores(a, b EtcdRestore) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// MayBegin returns whether a cluster may begin an EtcdRestore: it is open, verified, and has not failed.
func (r *EtcdRestore) MayBegin() bool {
	return r.Open() && r.Verified() && !meta.IsStatusConditionTrue(r.Status.Conditions, ConditionFailed)
}

// Open returns whether an EtcdRestore restores a whole cluster, is not complete, and is not being deleted.
func (r *EtcdRestore) Open() bool {
	complete := meta.IsStatusConditionTrue(r.Status.Conditions, ConditionComplete)
	return r.DeletionTimestamp.IsZero() && !complete && !r.Spec.DryRun && len(r.Spec.Prefixes) == 0
}

// Verified returns whether restore-operator has verified from where the cluster is filled.
func (r *EtcdRestore) Verified() bool {
	return meta.IsStatusConditionTrue(r.Status.Conditions, ConditionVerified) && r.Status.Filled()
}

// Ended returns whether an EtcdRestore has failed or is complete.
func (r *EtcdRestore) Ended() bool {
	return meta.IsStatusConditionTrue(r.Status.Conditions, ConditionFailed) || meta.IsStatusConditionTrue(r.Status.Conditions, ConditionComplete)
}
