package restore

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

var (
	theSource = v1beta2.RestoreSource{
		StorageType: v1beta2.StorageS3, Bucket: "backups", Key: "etcd/one.db", Endpoint: "http://s3:7070", ForcePathStyle: true, Secret: "aws",
	}
	theSnapshot = v1beta2.Snapshot{
		Path: "backups/etcd/one.db", Revision: 42, Keys: 7, Size: 20512, SHA256: strings.Repeat("ab", 32),
		StorageVersion: "3.6.0", EtcdVersion: "3.6.16",
	}
)

// theRestore returns an EtcdRestore of theSource into theCluster.
func theRestore() *v1beta2.EtcdRestore {
	return &v1beta2.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "back", UID: "uid-restore", Generation: 1},
		Spec: v1beta2.EtcdRestoreSpec{
			EtcdCluster:       v1beta2.ClusterReference{Name: "example"},
			BackupStorageType: v1beta2.StorageS3,
			Storage: v1beta2.Storage{S3: &v1beta2.S3Source{
				Path: "backups/etcd/one.db", AWSSecret: "aws", Endpoint: "http://s3:7070", ForcePathStyle: true,
			}},
		},
	}
}

func theCluster() *v1beta2.EtcdCluster {
	return &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example"},
		Spec:       v1beta2.EtcdClusterSpec{Size: 3, Version: "3.6.16"},
	}
}

// progress is what the cluster reports about theRestore at a step.
func progress(step v1beta2.RestoreStep) *v1beta2.ClusterRestoreStatus {
	return &v1beta2.ClusterRestoreStatus{
		Name: "back", UID: "uid-restore", Step: step, Message: "what the cluster says", Incarnation: 2,
		ClusterIDBefore: "00000000000000aa", ClusterID: "00000000000000bb", Revision: 1000000042,
	}
}
