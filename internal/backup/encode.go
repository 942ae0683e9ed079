package backup

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/codec"
)

// encoder makes the objects that the spec asks for.
func encoder(spec v1beta2.EtcdBackupSpec) codec.Encoder {
	e := codec.Encoder{Compression: string(spec.Compression)}
	if spec.Encryption != nil {
		e.Recipients = spec.Encryption.Age.Recipients
	}
	return e
}
