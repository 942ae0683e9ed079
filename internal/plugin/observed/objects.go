package observed

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Objects are what was read of one cluster.
type Objects struct {
	Now      time.Time
	Cluster  v1beta2.EtcdCluster
	Backups  []v1beta2.EtcdBackup
	Restores []v1beta2.EtcdRestore
	Pods     []corev1.Pod
	// NoPods means that the Pods were not read, so that a missing one is not a finding.
	NoPods bool
	// Looks are the members' own answers, by name. A member that was not asked, or did not answer, is missing.
	Looks map[string]Look
	// Nodes are the nodes of members that do not serve, by name, with what Kubernetes reports of each that is not ready. One that the
	// user may not read is missing.
	Nodes map[string]string
	// Certificates are those that could be read.
	Certificates []Certificate
}

// A Look is what a member's metrics port answers.
type Look struct {
	Committed int64
	Applied   int64
	Revision  int64
	Keys      int64
	Quota     int64
	InUse     int64
	Alarms    string
}

// A Certificate is the expiry of one certificate.
type Certificate struct {
	Name    string    `json:"name"`
	Expires time.Time `json:"expires"`
}

// BackupsOf returns the EtcdBackups of a cluster.
func BackupsOf(cluster string, all []v1beta2.EtcdBackup) []v1beta2.EtcdBackup {
	return slices.DeleteFunc(slices.Clone(all), func(b v1beta2.EtcdBackup) bool {
		return b.Spec.EtcdCluster == nil || b.Spec.EtcdCluster.Name != cluster
	})
}

// RestoresOf returns the EtcdRestores of a cluster, newest first.
func RestoresOf(cluster string, all []v1beta2.EtcdRestore) []v1beta2.EtcdRestore {
	found := slices.DeleteFunc(slices.Clone(all), func(r v1beta2.EtcdRestore) bool { return r.Spec.EtcdCluster.Name != cluster })
	slices.SortStableFunc(found, func(a, b v1beta2.EtcdRestore) int {
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
	return found
}

// A Saved is a snapshot with the EtcdBackup that took it.
type Saved struct {
	Backup    string `json:"backup"`
	Namespace string `json:"namespace,omitempty"`
	v1beta2.Snapshot
}

// Snapshots returns the snapshots in the status of EtcdBackups, newest first.
func Snapshots(backups []v1beta2.EtcdBackup) []Saved {
	var all []Saved
	for _, b := range backups {
		list := b.Status.Snapshots
		if len(list) == 0 && b.Status.Snapshot != nil {
			list = []v1beta2.Snapshot{*b.Status.Snapshot}
		}
		for _, s := range list {
			all = append(all, Saved{Backup: b.Name, Namespace: b.Namespace, Snapshot: s})
		}
	}
	slices.SortStableFunc(all, func(a, b Saved) int { return strings.Compare(b.CreatedAt, a.CreatedAt) })
	return all
}

// Taken returns when the snapshot was taken; ok is false if the object does not record it.
func (s Saved) Taken() (at time.Time, ok bool) {
	at, err := time.Parse(time.RFC3339, s.CreatedAt)
	return at, err == nil
}
