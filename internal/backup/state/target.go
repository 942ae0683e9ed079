package state

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/schedule"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// TargetOf is where the EtcdBackup called name in namespace wants its snapshots, or what is wrong with that and with
// the source.
func TargetOf(namespace, name string, spec v1beta2.EtcdBackupSpec) (storage.Location, *Failure) {
	t, problem := storage.Spec{Field: "storageType", Type: spec.StorageType, Block: spec.Storage}.Location()
	if problem != nil {
		return storage.Location{}, (*Failure)(problem)
	}
	if err := checkSeries(t.Key, namespace, name, spec); err != nil {
		return storage.Location{}, Invalid("path: %v. Write another path.", err)
	}
	if spec.Continuous != nil {
		if err := archive.CheckRoot(archive.Root(t.Key, namespace, SourceName(name, spec))); err != nil {
			return storage.Location{}, Invalid("path: %v. Write a shorter path.", err)
		}
	}
	if problem := badSource(spec); problem != nil {
		return storage.Location{}, problem
	}
	if err := badPolicy(spec); err != nil {
		return storage.Location{}, Invalid("%v", err)
	}
	return t, nil
}

// checkSeries returns what is wrong with the keys of the snapshots, if key is the folder of a series or one object. An object must not look
// like a part of another cluster's series, or of an archive.
func checkSeries(key, namespace, name string, spec v1beta2.EtcdBackupSpec) error {
	own := snapshot.Series{Folder: key, Namespace: namespace, Cluster: SourceName(name, spec)}
	if isSeries(spec) {
		return snapshot.CheckWritten(own.EncodedKey(time.Time{}, 0, EncoderOf(spec).Encoding())) // as long as any
	}
	named, inSeries := snapshot.ParseKey(key)
	switch {
	case inSeries && (named.Namespace != own.Namespace || named.Cluster != own.Cluster):
		return fmt.Errorf("key %q is in the series of cluster %s in namespace %s, and this EtcdBackup saves cluster %s in namespace %s",
			key, named.Cluster, named.Namespace, own.Cluster, own.Namespace)
	case snapshot.IsVerdict(key) || snapshot.IsDraft(key):
		return fmt.Errorf("key %q ends like an object that describes a snapshot", key)
	case archive.IsKey(key):
		return fmt.Errorf("key %q is in the folder of continuous archives", key)
	}
	return snapshot.CheckWritten(key)
}

// badSource says what is wrong with the endpoints.
func badSource(spec v1beta2.EtcdBackupSpec) *Failure {
	if spec.EtcdCluster != nil {
		return nil
	}
	if len(spec.EtcdEndpoints) == 0 {
		return Invalid("write either etcdCluster.name or etcdEndpoints")
	}
	for _, endpoint := range spec.EtcdEndpoints {
		if _, err := endpointHost(endpoint); err != nil {
			return Invalid("etcdEndpoints: %v", err)
		}
	}
	return nil
}

// endpointHost is the host of a client URL; "host:port" without a scheme is taken too, as etcdctl takes it. Errors
// do not repeat what could be a password.
func endpointHost(endpoint string) (string, error) {
	raw := endpoint
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "", fmt.Errorf("one is not a URL: write https://host:2379")
	case u.User != nil:
		return "", fmt.Errorf("the URL of %s holds a user or password, which etcd's clients do not take there", u.Host)
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return "", fmt.Errorf("%q: write https://host:2379", endpoint)
	}
	return u.Hostname(), nil
}

// Invalid returns the Failure of a spec that can never work.
func Invalid(format string, args ...any) *Failure {
	return &Failure{Reason: v1beta2.ReasonInvalidSpec, Message: fmt.Sprintf(format, args...)}
}

// CopyTargetOf returns the second location, or what is wrong with it. That stops no snapshots.
func CopyTargetOf(namespace, name string, spec v1beta2.EtcdBackupSpec, first storage.Location) (storage.Location, *Failure) {
	if spec.CopyTo == nil {
		return storage.Location{}, nil
	}
	l, problem := storage.Spec{Field: "copyTo.storageType", Type: spec.CopyTo.StorageType, Block: spec.CopyTo.Storage}.Location()
	if problem != nil {
		return storage.Location{}, (*Failure)(problem)
	}
	if err := checkSeries(l.Key, namespace, name, spec); err != nil {
		return storage.Location{}, Invalid("copyTo: path: %v. Write another path.", err)
	}
	if spec.Continuous != nil {
		if err := archive.CheckRoot(archive.Root(l.Key, namespace, SourceName(name, spec))); err != nil {
			return storage.Location{}, Invalid("copyTo: path: %v. Write a shorter path.", err)
		}
	}
	same := func(a, b string) bool { return strings.EqualFold(strings.TrimRight(a, "/"), strings.TrimRight(b, "/")) }
	if l.Provider == first.Provider && same(l.Endpoint, first.Endpoint) && l.Path() == first.Path() {
		return storage.Location{}, Invalid("copyTo is the first location, so there is no copy. Write another bucket or folder.")
	}
	return l, nil
}

// badPolicy returns what is wrong with schedules, time zones and retention that the API server cannot check.
func badPolicy(spec v1beta2.EtcdBackupSpec) error {
	if _, err := ScheduleOf(spec); err != nil {
		return fmt.Errorf("backupPolicy: %w", err)
	}
	if spec.Drill != nil {
		if _, err := schedule.Parse(spec.Drill.Schedule, spec.Drill.TimeZone); err != nil {
			return fmt.Errorf("drill: %w", err)
		}
	}
	if spec.BackupPolicy != nil && spec.BackupPolicy.Retention != nil {
		if _, err := keepWithin(spec.BackupPolicy.Retention.KeepWithin); err != nil {
			return fmt.Errorf("backupPolicy.retention.keepWithin: %w", err)
		}
	}
	return nil
}
