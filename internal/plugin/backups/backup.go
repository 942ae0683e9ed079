package backups

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
)

// A Target is where a one-shot backup goes, from flags.
type Target struct {
	Type     string
	Path     string
	Secret   string
	Endpoint string
	Region   string
	// PathStyle has the bucket in the path of the URL (S3).
	PathStyle bool
}

// Stamp is the time in names of objects that this command creates.
func Stamp(now time.Time) string { return now.UTC().Format("20060102-150405") }

// Series returns the EtcdBackup that a one-shot backup is like: that of the name, or the only one of the cluster.
func Series(cluster, name string, all []v1beta2.EtcdBackup) (*v1beta2.EtcdBackup, error) {
	of := observed.BackupsOf(cluster, all)
	if name != "" {
		for i := range of {
			if of[i].Name == name {
				return &of[i], nil
			}
		}
		return nil, fmt.Errorf("EtcdBackup %s does not exist or saves another cluster. Nothing was written. List them: kubectl get etcdbackups", name)
	}
	of = SeriesOf(cluster, of)
	switch len(of) {
	case 1:
		return &of[0], nil
	case 0:
		return nil, fmt.Errorf("cluster %s has no series of backups, so the location is unknown. Nothing was written. Name one: --storage S3 --path <bucket>/<key> --secret <name>", cluster)
	}
	var names []string
	for _, b := range of {
		names = append(names, b.Name)
	}
	return nil, fmt.Errorf("cluster %s has %d series: %s. Nothing was written. Choose one: --like %s", cluster, len(of), strings.Join(names, ", "), names[0])
}

// SeriesOf returns the EtcdBackups of a cluster that take more than one snapshot.
func SeriesOf(cluster string, all []v1beta2.EtcdBackup) []v1beta2.EtcdBackup {
	return slices.DeleteFunc(observed.BackupsOf(cluster, all), func(b v1beta2.EtcdBackup) bool { return !IsSeries(b) })
}

// IsSeries reports whether an EtcdBackup takes more than one snapshot.
func IsSeries(b v1beta2.EtcdBackup) bool {
	p := b.Spec.BackupPolicy
	return p != nil && (p.Schedule != "" || p.BackupIntervalInSecond > 0)
}

// BackupLike returns a one-shot EtcdBackup into the store of another one, with its compression and encryption. The path is
// beside the folder of the series, so that the series neither lists nor removes the object.
func BackupLike(like v1beta2.EtcdBackup, cluster string, now time.Time) v1beta2.EtcdBackup {
	return beside(like, cluster, "on-request", now)
}

// beside returns a one-shot EtcdBackup whose path is beside the folder of a series, in a folder of that name.
func beside(like v1beta2.EtcdBackup, cluster, name string, now time.Time) v1beta2.EtcdBackup {
	spec := *like.Spec.DeepCopy()
	policy := spec.BackupPolicy
	spec.BackupPolicy, spec.Drill, spec.CopyTo, spec.Continuous, spec.FinalSnapshot = nil, nil, nil, nil, false
	spec.TTLSecondsAfterFinished, spec.DeletionPolicy = nil, ""
	if policy != nil && (policy.TimeoutInSecond != 0 || policy.MaxBytesPerSecond != 0) {
		spec.BackupPolicy = &v1beta2.BackupPolicy{TimeoutInSecond: policy.TimeoutInSecond, MaxBytesPerSecond: policy.MaxBytesPerSecond}
	}
	suffix := ".db"
	if spec.Compression != "" {
		suffix += ".zst"
	}
	if spec.Encryption != nil {
		suffix += ".age"
	}
	for _, path := range paths(&spec.Storage) {
		bucket, folder, _ := strings.Cut(strings.TrimSuffix(*path, "/"), "/")
		if !IsSeries(like) {
			folder = folder[:max(0, strings.LastIndex(folder, "/"))]
		}
		parts := []string{bucket, folder + "-" + name, like.Namespace, cluster, Stamp(now) + suffix}
		if folder == "" {
			parts[1] = name
		}
		*path = strings.Join(parts, "/")
	}
	return v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: like.Namespace, Name: cluster + "-" + Stamp(now)}, Spec: spec}
}

func paths(s *v1beta2.Storage) []*string {
	var found []*string
	if s.S3 != nil {
		found = append(found, &s.S3.Path)
	}
	if s.GCS != nil {
		found = append(found, &s.GCS.Path)
	}
	if s.ABS != nil {
		found = append(found, &s.ABS.Path)
	}
	return found
}

// BackupTo returns a one-shot EtcdBackup into a store that flags name.
func BackupTo(to Target, namespace, cluster string, now time.Time) (v1beta2.EtcdBackup, error) {
	b := v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cluster + "-" + Stamp(now)}}
	b.Spec.EtcdCluster = &v1beta2.ClusterReference{Name: cluster}
	b.Spec.StorageType = v1beta2.StorageType(to.Type)
	switch b.Spec.StorageType {
	case v1beta2.StorageS3:
		b.Spec.S3 = &v1beta2.S3Source{Path: to.Path, AWSSecret: to.Secret, Endpoint: to.Endpoint, Region: to.Region, ForcePathStyle: to.PathStyle}
	case v1beta2.StorageGCS:
		b.Spec.GCS = &v1beta2.GCSSource{Path: to.Path, GCPSecret: to.Secret, Endpoint: to.Endpoint}
	case v1beta2.StorageABS:
		b.Spec.ABS = &v1beta2.ABSSource{Path: to.Path, ABSSecret: to.Secret, Endpoint: to.Endpoint}
	default:
		return b, fmt.Errorf("storage type %q does not exist. Nothing was written. Write --storage S3, GCS or ABS", to.Type)
	}
	return b, nil
}

// Path returns the path of a store.
func Path(s v1beta2.Storage) string {
	for _, path := range paths(&s) {
		return *path
	}
	return ""
}

// OnlyNamed returns the EtcdBackup of the name, or all without a name.
func OnlyNamed(name string, all []v1beta2.EtcdBackup) []v1beta2.EtcdBackup {
	return slices.DeleteFunc(all, func(b v1beta2.EtcdBackup) bool { return name != "" && b.Name != name })
}
