package seed

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// ProgressPort is where the init container tells over plain HTTP how far it is, until it ends: GET of ProgressPath
// yields a Progress as JSON. It is the port of etcd's metrics, on which nobody listens yet in that Pod.
const ProgressPort = v1beta2.MetricsPort

// ProgressPath of the URL.
const ProgressPath = "/progress"

// MaxProgress is more than a Progress has as JSON, in bytes.
const MaxProgress = 4 << 10

// MaxMessage is the most characters of Following.Message.
const MaxMessage = 500

// Progress is how far the init container is. It holds nothing that the EtcdRestore's status does not.
type Progress struct {
	// Percent of the work: the download is its first 70, the restore the rest.
	Percent int32 `json:"percent"`
	// Following is how far a standby is. It is absent for a restore, and from the promotion on.
	Following *Following `json:"following,omitempty"`
}

// Following is how far a standby is.
type Following struct {
	// Timeline and Revision are the last ones that the standby has, and Time is a time before which that revision was written. They are zero before
	// the first base is read.
	Timeline int64     `json:"timeline,omitempty"`
	Revision int64     `json:"revision,omitempty"`
	Time     time.Time `json:"time,omitzero"`
	// LagSeconds is how far the standby is behind the archive.
	LagSeconds int64 `json:"lagSeconds"`
	// Authentication is whether etcd's authentication is on in the data. etcd then refuses operators without a user.
	Authentication bool `json:"authentication,omitempty"`
	// Cause is why the archive cannot be followed any further, for example NewTimeline, and Message is why the last step failed. They are empty if
	// it did not.
	Cause   string `json:"cause,omitempty"`
	Message string `json:"message,omitempty"`
}

// VolumeRead is what a seed has read from a volume. It is the termination message of the init container as JSON.
type VolumeRead struct {
	Volume *v1beta2.VolumeRead `json:"volume,omitempty"`
}

// Promoted is what a standby has at its promotion. It is the termination message of the init container as JSON.
type Promoted struct {
	// Planned: the source had stopped before, so that nothing is lost and the revisions are the same.
	Planned  bool      `json:"planned,omitempty"`
	Timeline int64     `json:"timeline"`
	Revision int64     `json:"revision"`
	Time     time.Time `json:"time,omitzero"`
}
