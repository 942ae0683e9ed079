package state

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/codec"
)

// EncoderOf makes the objects that the spec asks for.
func EncoderOf(spec v1beta2.EtcdBackupSpec) codec.Encoder {
	e := codec.Encoder{Compression: string(spec.Compression)}
	if spec.Encryption != nil {
		e.Recipients = spec.Encryption.Age.Recipients
	}
	return e
}

// TimeoutOf returns the limit of one attempt. An object from before the maximum may have more.
func TimeoutOf(spec v1beta2.EtcdBackupSpec) time.Duration {
	if p := spec.BackupPolicy; p != nil && p.TimeoutInSecond > 0 {
		return Seconds(min(p.TimeoutInSecond, v1beta2.MaxBackupTimeoutSeconds))
	}
	return Seconds(v1beta2.DefaultBackupTimeoutSeconds)
}

// MaxLag is the age that the oldest change may have before it is in the archive.
func MaxLag(c *v1beta2.ContinuousArchive) time.Duration {
	return durationOr(c.MaxLag, v1beta2.DefaultMaxLag)
}

// archiveWindow is 0 without a continuous archive.
func archiveWindow(c *v1beta2.ContinuousArchive) time.Duration {
	if c == nil {
		return 0
	}
	return durationOr(c.Window, v1beta2.DefaultWindow)
}

// durationOr parses a duration that the API server has checked.
func durationOr(text, otherwise string) time.Duration {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d
	}
	d, _ := time.ParseDuration(otherwise)
	return d
}

// SourceName is the name of the EtcdCluster. If the spec names endpoints instead, it is the name of the EtcdBackup.
func SourceName(backup string, spec v1beta2.EtcdBackupSpec) string {
	if spec.EtcdCluster != nil {
		return spec.EtcdCluster.Name
	}
	return backup
}

// isSeries returns whether the spec asks for more than one snapshot.
func isSeries(spec v1beta2.EtcdBackupSpec) bool {
	p := spec.BackupPolicy
	return p != nil && (p.Schedule != "" || p.BackupIntervalInSecond > 0)
}
