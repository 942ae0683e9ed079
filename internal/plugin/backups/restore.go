package backups

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// Choose returns the snapshot of the path, key or file name, or the newest one that was taken with quorum and did not fail a
// restore test.
func Choose(wanted string, all []observed.Saved) (observed.Saved, error) {
	for _, s := range all {
		if wanted == "" && !s.NoQuorum && s.RestoreTest != v1beta2.DrillFailed {
			return s, nil
		}
		if wanted != "" && (s.Path == wanted || strings.HasSuffix(s.Path, "/"+wanted)) {
			return s, nil
		}
	}
	if wanted == "" {
		return observed.Saved{}, fmt.Errorf("no EtcdBackup of this cluster has a snapshot to restore. Nothing was changed. To restore another object, apply an EtcdRestore with its path")
	}
	return observed.Saved{}, fmt.Errorf("no EtcdBackup of this cluster lists snapshot %s. Nothing was changed. List them: kubectl etcd snapshots", wanted)
}

// NewRestore returns the EtcdRestore that brings a snapshot back. It is refused if the cluster is replaced in the meantime.
func NewRestore(c v1beta2.EtcdCluster, s observed.Saved, dryRun bool, now time.Time) v1beta2.EtcdRestore {
	return v1beta2.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name + "-" + Stamp(now)},
		Spec: v1beta2.EtcdRestoreSpec{
			EtcdCluster: v1beta2.ClusterReference{Name: c.Name},
			EtcdBackup:  &v1beta2.BackupReference{Name: s.Backup, Snapshot: s.Path},
			Replaces:    c.Status.ClusterID,
			DryRun:      dryRun,
		},
	}
}

// Loss says what a restore would remove. looks are what members report now; without them the revision is unknown.
func Loss(c v1beta2.EtcdCluster, s observed.Saved, looks map[string]observed.Look, now time.Time) string {
	var text strings.Builder
	fmt.Fprintf(&text, "Restore into EtcdCluster %s (etcd cluster %s), which runs now:\n", c.Name, terminal.Or(c.Status.ClusterID))
	fmt.Fprintf(&text, "  snapshot    %s\n", s.Path)
	if at, ok := s.Taken(); ok {
		fmt.Fprintf(&text, "  taken       %s (%s)\n", s.CreatedAt, terminal.Ago(now, at))
	} else {
		fmt.Fprintln(&text, "  taken       at an unknown time")
	}
	test := "not tested"
	if s.RestoreTest != "" {
		test = string(s.RestoreTest)
	}
	fmt.Fprintf(&text, "  content     revision %d, %d keys, %s, restore test: %s\n", s.Revision, s.Keys, terminal.Bytes(s.Size), test)
	top := observed.Newest(looks)
	switch {
	case top.Revision == 0:
		fmt.Fprintln(&text, "  lost        every write since then. No member reports its revision, so their number is unknown.")
	case c.Status.ClusterID != s.ClusterID:
		fmt.Fprintf(&text, "  lost        the present data: revision %d, %d keys. The snapshot is of another etcd cluster (%s).\n", top.Revision, top.Keys, terminal.Or(s.ClusterID))
	default:
		fmt.Fprintf(&text, "  lost        %d revisions written since then (now %d, %d keys).\n", max(0, top.Revision-s.Revision), top.Revision, top.Keys)
	}
	if s.NoQuorum {
		fmt.Fprintln(&text, "  warning     The snapshot was taken without quorum. It may lack writes that etcd confirmed to clients.")
	}
	fmt.Fprintln(&text, "The operator saves the present data first, if the cluster answers (safetySnapshot: IfPossible).")
	return text.String()
}

// NewPointRestore returns the EtcdRestore that brings a point back. It is refused if the cluster is replaced in the meantime.
func NewPointRestore(c v1beta2.EtcdCluster, r Reachable, dryRun bool, now time.Time) v1beta2.EtcdRestore {
	restore := NewRestore(c, observed.Saved{Backup: r.Backup}, dryRun, now)
	restore.Spec.Select = &v1beta2.SnapshotSelector{Revision: r.Revision}
	if r.Revision == 0 {
		restore.Spec.Select.Time = &metav1.Time{Time: r.Time}
	}
	return restore
}
