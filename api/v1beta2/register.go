// Package v1beta2 is the API of the etcd operator suite: EtcdCluster, EtcdBackup and EtcdRestore.
//
// The group, the kinds and every field of coreos/etcd-operator v0.9.4 keep their names, so its manifests apply
// unchanged. Everything new is an additional field. There is one version and no webhook: the structural schema, its
// defaults and its CEL rules define what is valid. Each operator writes the status of its own kind only.
//
// +kubebuilder:object:generate=true
// +groupName=etcd.database.coreos.com
package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// AddToScheme registers the three kinds and their lists.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&EtcdCluster{}, &EtcdClusterList{},
		&EtcdBackup{}, &EtcdBackupList{},
		&EtcdRestore{}, &EtcdRestoreList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
