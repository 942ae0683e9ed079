package edit

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/backups"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// Suspend stops or continues the schedule of a series.
func Suspend(b *v1beta2.EtcdBackup, suspend bool) error {
	switch {
	case !backups.IsSeries(*b):
		return fmt.Errorf("EtcdBackup %s takes one snapshot and has no schedule. Nothing was changed", b.Name)
	case b.Spec.BackupPolicy.Suspend == suspend && suspend:
		return fmt.Errorf("EtcdBackup %s is suspended already. Nothing was changed", b.Name)
	case b.Spec.BackupPolicy.Suspend == suspend:
		return fmt.Errorf("EtcdBackup %s is not suspended. Nothing was changed", b.Name)
	}
	b.Spec.BackupPolicy.Suspend = suspend
	return nil
}

// FollowSuspended returns the progress until backup-operator has read the change.
func FollowSuspended(b v1beta2.EtcdBackup, suspend bool) Step {
	switch {
	case b.Status.ObservedGeneration < b.Generation:
		return Step{Line: "backup-operator has not read the change. Check that it runs and watches the namespace"}
	case suspend:
		return Step{Line: "EtcdBackup " + b.Name + " takes no scheduled snapshots", Done: true}
	case b.Status.NextTime != nil:
		return Step{Line: fmt.Sprintf("EtcdBackup %s takes its next snapshot at %s", b.Name, terminal.Stamp(b.Status.NextTime.Time)), Done: true}
	}
	return Step{Line: "EtcdBackup " + b.Name + " takes scheduled snapshots again", Done: true}
}
