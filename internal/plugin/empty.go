package plugin

import (
	"fmt"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/runbook"
)

// FirstCluster returns what a user without a cluster can do.
func FirstCluster() string {
	return "To create one, see " + runbook.PageURL("tutorial-first-cluster.md")
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
