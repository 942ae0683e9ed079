package v1beta2

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdPolicy holds options of etcd itself. A field that is not set leaves etcd's own default. A change restarts members
// one at a time.
//
// +kubebuilder:validation:XValidation:rule="duration(has(self.electionTimeout) ? self.electionTimeout : '1s').getMilliseconds() >= 5 * duration(has(self.heartbeatInterval) ? self.heartbeatInterval : '100ms').getMilliseconds()",message="electionTimeout (default 1s) must be at least five times heartbeatInterval (default 100ms), as etcd requires: raise electionTimeout, or lower heartbeatInterval"
type EtcdPolicy struct {
	// Space quota: the size that a member's database file may have, in bytes, at least 16Mi. A full file stops all
	// writes. The volume must hold at least the quota, and should hold a quarter more and 1 GiB for logs. Default: 2Gi.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isInteger() && quantity(string(self)).compareTo(quantity('16Mi')) >= 0",message="quotaBackendBytes must be whole bytes, at least 16Mi: write for example 4Gi"
	QuotaBackendBytes *resource.Quantity `json:"quotaBackendBytes,omitempty"`
	// Compaction of the history by etcd itself. A kube-apiserver compacts its etcd every 5 minutes, unless it runs with
	// --etcd-compaction-interval=0. Default: none.
	// +optional
	AutoCompaction *AutoCompactionPolicy `json:"autoCompaction,omitempty"`
	// How often the leader sends a heartbeat, 10ms to 9999ms. Use about the round-trip time between members. All
	// members need the same value, so avoid other changes until the restart is complete. Default: 100ms.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}ms|[0-9]{1,2}([.][0-9]{1,3})?s)$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10ms') && duration(self) < duration('10s')",message="heartbeatInterval must be 10ms to 9999ms: write for example 100ms"
	// +kubebuilder:validation:MaxLength=16
	HeartbeatInterval *metav1.Duration `json:"heartbeatInterval,omitempty"`
	// How long a member waits for a heartbeat before it starts an election, 50ms to 50s. It must be at least five times
	// heartbeatInterval; ten times the round-trip time is usual. Default: 1s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}ms|[0-9]{1,2}([.][0-9]{1,3})?s)$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('50ms') && duration(self) <= duration('50s')",message="electionTimeout must be 50ms to 50s: write for example 1s"
	// +kubebuilder:validation:MaxLength=16
	ElectionTimeout *metav1.Duration `json:"electionTimeout,omitempty"`
	// Level from which etcd writes log messages. Default: info.
	// +optional
	// +kubebuilder:validation:Enum=debug;info;warn;error;panic;fatal
	LogLevel string `json:"logLevel,omitempty"`
	// Size of the largest request that a client can send, in bytes, 1Ki to 100Mi. Large requests make all others
	// slower; etcd advises at most 10Mi. Default: 1.5Mi.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isInteger() && quantity(string(self)).compareTo(quantity('1Ki')) >= 0 && quantity(string(self)).compareTo(quantity('100Mi')) <= 0",message="maxRequestBytes must be whole bytes, 1Ki to 100Mi: write for example 4Mi"
	MaxRequestBytes *resource.Quantity `json:"maxRequestBytes,omitempty"`
	// Number of committed transactions after which a member writes a raft snapshot and drops older entries of its raft
	// log, 100 to 10000000. Default: 10000 since etcd 3.6, and 100000 before.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=10000000
	SnapshotCount *int64 `json:"snapshotCount,omitempty"`
}

// AutoCompactionMode decides what retention counts.
//
// +kubebuilder:validation:Enum=Periodic;Revision
type AutoCompactionMode string

// The modes of auto-compaction.
const (
	// AutoCompactionPeriodic keeps the history of a time.
	AutoCompactionPeriodic AutoCompactionMode = "Periodic"
	// AutoCompactionRevision keeps a number of revisions.
	AutoCompactionRevision AutoCompactionMode = "Revision"
)

// AutoCompactionPolicy decides how much history etcd keeps. Clients that read or watch an older revision get an error
// that it is compacted.
//
// +kubebuilder:validation:XValidation:rule="self.mode == 'Periodic' ? self.retention.matches('^([0-9]{1,6}h)?([0-9]{1,7}m)?([0-9]{1,9}s)?$') && duration(self.retention) >= duration('1m') : self.retention.matches('^[1-9][0-9]{0,17}$')",message="retention does not fit mode: write a time from 1m for Periodic (\"5m\"), or a number of revisions for Revision (\"1000\")"
type AutoCompactionPolicy struct {
	// Periodic keeps the history of the last retention. Revision keeps the newest revisions.
	// +required
	Mode AutoCompactionMode `json:"mode"`
	// How much history is kept. For Periodic it is a time of at least 1m, for example "5m". For Revision it is a number of
	// revisions, for example "1000".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=24
	Retention string `json:"retention"`
}
