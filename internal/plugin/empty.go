package plugin

import (
	"fmt"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// FirstCluster returns what a user without a cluster can do.
func FirstCluster() string { return "To create one, see " + PageURL("tutorial-first-cluster.md") }

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
		return fmt.Sprintf("No EtcdBackup saves it. To take one: kubectl etcd backup %s --storage S3 --path <bucket>/<key> --secret <name>. For a schedule, see %s", cluster, PageURL("backup.md"))
	case !everywhere:
		return "It has no EtcdBackup. To list the snapshots of all namespaces: kubectl etcd snapshots -A"
	}
	return "There is no EtcdBackup. To create one, see " + PageURL("backup.md")
}

// NoPod returns what a user can do if a cluster has no Pod.
func NoPod(c v1beta2.EtcdCluster) string {
	if c.Spec.Hibernate {
		return "The cluster hibernates. To start its members: kubectl etcd wake " + c.Name
	}
	return "To see why: kubectl etcd status " + c.Name
}

// OnlyCluster returns the cluster of a namespace that has one.
func OnlyCluster(namespace string, all []v1beta2.EtcdCluster) (v1beta2.EtcdCluster, error) {
	switch len(all) {
	case 1:
		return all[0], nil
	case 0:
		return v1beta2.EtcdCluster{}, fmt.Errorf("namespace %s has no EtcdCluster. Nothing was changed. To list those of all namespaces: kubectl etcd status -A. %s", namespace, FirstCluster())
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	return v1beta2.EtcdCluster{}, fmt.Errorf("namespace %s has %d EtcdClusters: %s. Nothing was changed. Name one of them, for example: kubectl etcd status %s", namespace, len(all), strings.Join(names, ", "), names[0])
}
