package backups

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// ImportLike returns where a snapshot is imported to: the store, compression and encryption of an EtcdBackup. The path is beside the folder of the
// series, so that the series neither lists nor removes the object.
func ImportLike(like v1beta2.EtcdBackup, cluster string, now time.Time) v1beta2.EtcdBackup {
	return beside(like, cluster, "imported", now)
}

// EncoderOf makes the object that the spec asks for.
func EncoderOf(spec v1beta2.EtcdBackupSpec) codec.Encoder {
	e := codec.Encoder{Compression: string(spec.Compression)}
	if spec.Encryption != nil {
		e.Recipients = spec.Encryption.Age.Recipients
	}
	return e
}

// Imported is the EtcdRestore of an imported snapshot, without a status.
type Imported struct {
	APIVersion string                  `json:"apiVersion"`
	Kind       string                  `json:"kind"`
	Metadata   map[string]string       `json:"metadata"`
	Spec       v1beta2.EtcdRestoreSpec `json:"spec"`
}

// RestoreOf returns the EtcdRestore of an imported snapshot. It is refused if the cluster is replaced in the meantime.
func RestoreOf(to v1beta2.EtcdBackup, cluster, clusterID string) Imported {
	return Imported{
		APIVersion: v1beta2.GroupVersion.String(), Kind: "EtcdRestore", Metadata: map[string]string{"name": to.Name, "namespace": to.Namespace},
		Spec: v1beta2.EtcdRestoreSpec{
			EtcdCluster: v1beta2.ClusterReference{Name: cluster}, BackupStorageType: to.Spec.StorageType, Storage: forReading(to.Spec.Storage), Replaces: clusterID,
		},
	}
}

// ImportQuestion names what is written.
func ImportQuestion(what string, size int64, to v1beta2.EtcdBackup) string {
	return fmt.Sprintf("%s (%s) is written to %s %s. No EtcdCluster is changed.", what, terminal.Bytes(size), to.Spec.StorageType, Path(to.Spec.Storage))
}

// Stored returns what is known of a snapshot that was imported.
func Stored(path string, m snapshot.Manifest, width int) string {
	return terminal.Wrap(fmt.Sprintf("%s is stored: revision %d, %d keys, %s. Its SHA-256 trailer is right, and the check of its pages found no fault.", path, m.Revision, m.Keys, terminal.Bytes(m.Size)), width, 0) + "\n"
}
