package plugin

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Choose returns the snapshot of the path, key or file name, or the newest one that was taken with quorum and did not fail a
// restore test.
func Choose(wanted string, all []Saved) (Saved, error) {
	for _, s := range all {
		if wanted == "" && !s.NoQuorum && s.RestoreTest != v1beta2.DrillFailed {
			return s, nil
		}
		if wanted != "" && (s.Path == wanted || strings.HasSuffix(s.Path, "/"+wanted)) {
			return s, nil
		}
	}
	if wanted == "" {
		return Saved{}, fmt.Errorf("no EtcdBackup of this cluster has a snapshot to restore. Nothing was changed. To restore another object, apply an EtcdRestore with its path")
	}
	return Saved{}, fmt.Errorf("no EtcdBackup of this cluster lists snapshot %s. Nothing was changed. List them: kubectl etcd snapshots", wanted)
}

// NewRestore returns the EtcdRestore that brings a snapshot back. It is refused if the cluster is replaced in the meantime.
func NewRestore(c v1beta2.EtcdCluster, s Saved, dryRun bool, now time.Time) v1beta2.EtcdRestore {
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
func Loss(c v1beta2.EtcdCluster, s Saved, looks map[string]Look, now time.Time) string {
	var text strings.Builder
	fmt.Fprintf(&text, "Restore into EtcdCluster %s (etcd cluster %s), which runs now:\n", c.Name, or(c.Status.ClusterID))
	fmt.Fprintf(&text, "  snapshot    %s\n", s.Path)
	if at, ok := s.Taken(); ok {
		fmt.Fprintf(&text, "  taken       %s (%s)\n", s.CreatedAt, ago(now, at))
	} else {
		fmt.Fprintln(&text, "  taken       at an unknown time")
	}
	test := "not tested"
	if s.RestoreTest != "" {
		test = string(s.RestoreTest)
	}
	fmt.Fprintf(&text, "  content     revision %d, %d keys, %s, restore test: %s\n", s.Revision, s.Keys, bytes(s.Size), test)
	top := newest(looks)
	switch {
	case top.Revision == 0:
		fmt.Fprintln(&text, "  lost        every write since then. No member reports its revision, so their number is unknown.")
	case c.Status.ClusterID != s.ClusterID:
		fmt.Fprintf(&text, "  lost        the present data: revision %d, %d keys. The snapshot is of another etcd cluster (%s).\n", top.Revision, top.Keys, or(s.ClusterID))
	default:
		fmt.Fprintf(&text, "  lost        %d revisions written since then (now %d, %d keys).\n", max(0, top.Revision-s.Revision), top.Revision, top.Keys)
	}
	if s.NoQuorum {
		fmt.Fprintln(&text, "  warning     The snapshot was taken without quorum. It may lack writes that etcd confirmed to clients.")
	}
	fmt.Fprintln(&text, "The operator saves the present data first, if the cluster answers (safetySnapshot: IfPossible).")
	return text.String()
}
