package backups

import (
	"fmt"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/runbook"
)

// NoSnapshot returns what a user can do if no EtcdBackup of a list has a snapshot. args may name the cluster.
func NoSnapshot(backups []v1beta2.EtcdBackup, args []string, everywhere bool) string {
	cluster := "<cluster>"
	if len(args) > 0 {
		cluster = args[0]
	}
	var waiting []string
	for _, b := range backups {
		waiting = append(waiting, b.Name)
		if b.Spec.EtcdCluster != nil {
			cluster = b.Spec.EtcdCluster.Name
		}
	}
	switch {
	case len(waiting) > 0:
		return fmt.Sprintf("EtcdBackup %s has saved none yet. To see why: kubectl etcd status %s. To take one now: kubectl etcd backup %s", strings.Join(waiting, ", "), cluster, cluster)
	case len(args) > 0:
		return fmt.Sprintf("No EtcdBackup saves it. To take one: kubectl etcd backup %s --storage S3 --path <bucket>/<key> --secret <name>. For a schedule, see %s", cluster, runbook.PageURL("backup.md"))
	case !everywhere:
		return "It has no EtcdBackup. To list the snapshots of all namespaces: kubectl etcd snapshots -A"
	}
	return "There is no EtcdBackup. To create one, see " + runbook.PageURL("backup.md")
}
