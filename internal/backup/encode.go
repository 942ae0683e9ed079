package backup

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// encoder makes the objects that the spec asks for.
func encoder(spec v1beta2.EtcdBackupSpec) snapshot.Encoder {
	e := snapshot.Encoder{Compression: string(spec.Compression)}
	if spec.Encryption != nil {
		e.Recipients = spec.Encryption.Age.Recipients
	}
	return e
}
