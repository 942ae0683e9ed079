package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The defaults of ContinuousArchive.
const (
	DefaultMaxLag = "5s"
	DefaultWindow = "168h"
)

// ContinuousArchive describes the archive of all changes of a cluster.
type ContinuousArchive struct {
	// Longest time for which a change may be missing in the store, from 1s to 10m. A lower value makes smaller and more
	// objects: at most one for each such time in which something changed. Default: 5s.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.size() <= 16 && self.matches('^([0-9]{1,6}m|[0-9]{1,9}s)+$') && duration(self) >= duration('1s') && duration(self) <= duration('10m')",message="maxLag must be 1s to 10m: write for example \"5s\""
	// +kubebuilder:validation:MaxLength=16
	MaxLag string `json:"maxLag,omitempty"`
	// How far back each revision can be restored, from 1h. All snapshots of this time and the newest one before it are
	// kept, although maxBackups and retention do not keep them. Older parts of the archive are removed after the next
	// snapshot. Default: 168h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.size() <= 16 && self.matches('^([0-9]{1,6}h|[0-9]{1,8}m|[0-9]{1,9}s)+$') && duration(self) >= duration('1h')",message="window must be at least 1h: write for example \"168h\""
	// +kubebuilder:validation:MaxLength=16
	Window string `json:"window,omitempty"`
}

// RecoverableRange is a part of the history of a cluster in which each revision and each second can be restored.
type RecoverableRange struct {
	// First point: the oldest snapshot of the range.
	From RecoverablePoint `json:"from"`
	// Last point: all changes up to it are in the store.
	To RecoverablePoint `json:"to"`
	// Number of the timeline. Each restore begins a new one, because the cluster then has another history.
	Timeline int64 `json:"timeline"`
	// Revisions of the range that a newer timeline had, too. A restore with select.revision uses only that timeline for them. A restore with
	// select.time uses this range. It is absent if there are none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	OnlyByTime []RevisionRange `json:"onlyByTime,omitempty"`
}

// RevisionRange has the revisions from First to Last.
type RevisionRange struct {
	// First revision.
	First int64 `json:"first"`
	// Last revision.
	Last int64 `json:"last"`
}

// ArchiveProof is the result of a proof of the continuous archive. The operator rolls an earlier snapshot forward to a later one, and
// compares all keys and values of the two.
type ArchiveProof struct {
	// Result of the proof: Passed, Failed, or Skipped if there was nothing to prove or to prove it with.
	Result ProofResult `json:"result"`
	// Time at which the proof ended.
	Time metav1.Time `json:"time"`
	// Location of the earlier snapshot, "<bucket>/<key>". It is empty if the proof was skipped.
	// +optional
	From string `json:"from,omitempty"`
	// Location of the later snapshot, "<bucket>/<key>".
	To string `json:"to"`
	// Revision of the later snapshot.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// Number of segments of the archive that were replayed.
	// +optional
	Segments int32 `json:"segments,omitempty"`
	// What the proof found.
	// +optional
	Message string `json:"message,omitempty"`
}

// ProofResult is the result of a proof of a continuous archive.
type ProofResult string

// The results of a proof.
const (
	ProofPassed  ProofResult = "Passed"
	ProofFailed  ProofResult = "Failed"
	ProofSkipped ProofResult = "Skipped"
)

// RecoverablePoint is a revision and a time.
type RecoverablePoint struct {
	// Revision of etcd.
	Revision int64 `json:"revision"`
	// Time up to which no change is missing.
	Time metav1.Time `json:"time"`
}
