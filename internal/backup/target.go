package backup

import (
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// target is where the EtcdBackup called name in namespace wants its snapshots, or what is wrong with that and with
// the source.
func target(namespace, name string, spec v1beta2.EtcdBackupSpec) (Target, *Failure) {
	t, problem := storage(spec)
	if problem != nil {
		return Target{}, problem
	}
	key := t.Key
	if isSeries(spec) {
		series := snapshot.Series{Folder: t.Key, Namespace: namespace, Cluster: sourceName(name, spec)}
		key = series.EncodedKey(time.Time{}, 0, encoder(spec).Encoding()) // as long as any
	}
	if err := snapshot.CheckKey(key); err != nil {
		return Target{}, invalid("path: %v: write another path", err)
	}
	if t.Endpoint != "" && badURL(t.Endpoint) {
		return Target{}, invalid("the endpoint of the store is not a URL: write https://host or https://host:port, without user and password")
	}
	if problem := badSource(spec); problem != nil {
		return Target{}, problem
	}
	if err := badPolicy(spec); err != nil {
		return Target{}, invalid("%v", err)
	}
	return t, nil
}

func storage(spec v1beta2.EtcdBackupSpec) (Target, *Failure) {
	switch {
	case spec.StorageType == v1beta2.StorageS3 && spec.S3 != nil:
		t, problem := split(spec.S3.Path)
		t.Storage, t.Secret, t.Endpoint = spec.StorageType, spec.S3.AWSSecret, spec.S3.Endpoint
		t.Region, t.ForcePathStyle = spec.S3.Region, spec.S3.ForcePathStyle
		t.CustomerKey = spec.S3.CustomerKey()
		return t, problem
	case spec.StorageType == v1beta2.StorageGCS && spec.GCS != nil:
		t, problem := split(spec.GCS.Path)
		t.Storage, t.Secret, t.Endpoint = spec.StorageType, spec.GCS.GCPSecret, spec.GCS.Endpoint
		return t, problem
	case spec.StorageType == v1beta2.StorageABS:
		return Target{}, unsupported("Azure Blob Storage is not supported: write storageType S3 (Amazon S3 or any store that speaks its protocol, by s3.endpoint) or GCS")
	case spec.StorageType == v1beta2.StorageOSS:
		return Target{}, unsupported("storageType OSS is not supported: Alibaba Cloud OSS speaks the S3 protocol, so write storageType S3 and its S3-compatible endpoint in s3.endpoint, for example https://s3.oss-cn-hangzhou.aliyuncs.com")
	case spec.StorageType == v1beta2.StorageS3, spec.StorageType == v1beta2.StorageGCS:
		block := strings.ToLower(string(spec.StorageType))
		return Target{}, invalid("storageType %s needs the block %s with path: \"<bucket>/<key>\"", spec.StorageType, block)
	}
	return Target{}, unsupported(fmt.Sprintf("storageType %q is not supported: write S3 or GCS", spec.StorageType))
}

// split takes a path literally: the bucket ends at the first slash, and the rest is the key.
func split(path string) (Target, *Failure) {
	bucket, key, found := strings.Cut(path, "/")
	if !found || bucket == "" || key == "" {
		return Target{}, invalid("path %q: write \"<bucket>/<key>\", for example \"my-bucket/etcd/snapshot.db\"", path)
	}
	for _, r := range bucket {
		if !bucketRune(r) {
			return Target{}, invalid("path %q: the bucket's name may have letters, digits, hyphens, underscores and dots", path)
		}
	}
	return Target{Bucket: bucket, Key: key}, nil
}

// bucketRune says whether a bucket's name may have r. Stores differ in what else they want, and say so.
func bucketRune(r rune) bool {
	return r <= unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.", r))
}

// badSource says what is wrong with the endpoints.
func badSource(spec v1beta2.EtcdBackupSpec) *Failure {
	if spec.EtcdCluster != nil {
		return nil
	}
	if len(spec.EtcdEndpoints) == 0 {
		return invalid("write either etcdCluster.name or etcdEndpoints")
	}
	for _, endpoint := range spec.EtcdEndpoints {
		if _, err := endpointHost(endpoint); err != nil {
			return invalid("etcdEndpoints: %v", err)
		}
	}
	return nil
}

// badURL says whether a store's endpoint is something else than scheme, host and port, and perhaps a path.
func badURL(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err != nil || u.User != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != ""
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

func invalid(format string, args ...any) *Failure {
	return &Failure{Reason: v1beta2.ReasonInvalidSpec, Message: fmt.Sprintf(format, args...)}
}

func unsupported(message string) *Failure {
	return &Failure{Reason: v1beta2.ReasonStorageNotSupported, Message: message}
}
