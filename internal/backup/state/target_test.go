package state_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

func s3At(path string) v1beta2.EtcdBackupSpec {
	return v1beta2.EtcdBackupSpec{
		EtcdEndpoints: []string{"10.0.0.1:2379"},
		StorageType:   v1beta2.StorageS3,
		Storage:       v1beta2.Storage{S3: &v1beta2.S3Source{Path: path}},
	}
}

func TestTarget(t *testing.T) {
	tests := map[string]struct {
		spec v1beta2.EtcdBackupSpec
		want storage.Location
	}{
		"takes a path literally": {s3At("my-bucket/a b/%d%s/ü+&=.db"), storage.Location{Provider: "S3", Bucket: "my-bucket", Key: "a b/%d%s/ü+&=.db"}},
		"takes all fields of the block s3": {v1beta2.EtcdBackupSpec{
			EtcdEndpoints: []string{"https://etcd.example.com:2379"}, StorageType: v1beta2.StorageS3,
			Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: "b/k", AWSSecret: "aws", Endpoint: "http://s3:7070", Region: "eu-1", ForcePathStyle: true}},
		}, storage.Location{Provider: "S3", Bucket: "b", Key: "k", Secret: "aws", Endpoint: "http://s3:7070", Region: "eu-1", ForcePathStyle: true}},
		"takes all fields of the block gcs": {v1beta2.EtcdBackupSpec{
			EtcdCluster: &v1beta2.ClusterReference{Name: "c"}, StorageType: v1beta2.StorageGCS,
			Storage: v1beta2.Storage{GCS: &v1beta2.GCSSource{Path: "b/k", GCPSecret: "gcp", Endpoint: "http://gcs:4443"}},
		}, storage.Location{Provider: "GCS", Bucket: "b", Key: "k", Secret: "gcp", Endpoint: "http://gcs:4443"}},
		"takes the longest key that leaves room for the manifest": {s3At("b/" + strings.Repeat("k", 1000)), storage.Location{Provider: "S3", Bucket: "b", Key: strings.Repeat("k", 1000)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, problem := state.TargetOf("ns", "b", test.spec)
			if problem != nil {
				t.Fatalf("refused: %s", problem)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("target (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTargetRefuses(t *testing.T) {
	with := func(change func(*v1beta2.EtcdBackupSpec)) v1beta2.EtcdBackupSpec {
		spec := s3At("b/k")
		change(&spec)
		return spec
	}
	endpoints := func(urls ...string) v1beta2.EtcdBackupSpec {
		return with(func(s *v1beta2.EtcdBackupSpec) { s.EtcdEndpoints = urls })
	}
	tests := map[string]struct {
		spec   v1beta2.EtcdBackupSpec
		reason string
		// says is a part of the message: what to write instead.
		says string
	}{
		"a path without a key":                               {s3At("bucket"), "InvalidSpec", `"<bucket>/<key>"`},
		"a URL in place of a path":                           {s3At("s3://bucket/key"), "InvalidSpec", "the bucket's name may have"},
		"a folder above the bucket":                          {s3At("b/../other/k"), "InvalidSpec", `".."`},
		"a dot as a path element":                            {s3At("b/a/./k"), "InvalidSpec", `"."`},
		"a folder without a name":                            {s3At("b/a//k"), "InvalidSpec", "empty"},
		"a one-shot that names a folder":                     {s3At("b/a/"), "InvalidSpec", `"<bucket>/<key>"`},
		"a control character":                                {s3At("b/a\nb"), "InvalidSpec", "control character"},
		"a key that is not UTF-8":                            {s3At("b/\xff"), "InvalidSpec", "UTF-8"},
		"a key that is too long":                             {s3At("b/" + strings.Repeat("k", 1024)), "InvalidSpec", "1024 bytes"},
		"a series whose keys would be too long":              {with(func(s *v1beta2.EtcdBackupSpec) { s.S3.Path = "b/" + strings.Repeat("k", 980); s.BackupPolicy = hourly }), "InvalidSpec", "at most"},
		"a one-shot in the series of another namespace":      {s3At("b/f/tenant/b/0000000000000001/20261121T120000Z-00000000000000000001.db"), "InvalidSpec", "series of cluster b in namespace tenant"},
		"a one-shot in the series of another cluster":        {s3At("b/f/ns/c/0000000000000001/20261121T120000Z-00000000000000000001.db"), "InvalidSpec", "series of cluster c in namespace ns"},
		"a one-shot that looks like the result of a test":    {s3At("b/f/ns/b/0000000000000001/20261121T120000Z-00000000000000000001.db.verdict-failed"), "InvalidSpec", "describes a snapshot"},
		"a one-shot that looks like the draft of a manifest": {s3At("b/k.db.draft-0123456789abcdef"), "InvalidSpec", "describes a snapshot"},
		"a one-shot that looks like a part of an archive":    {s3At("b/continuous-archive/ns/c/00000001/start"), "InvalidSpec", "continuous archives"},
		"S3 without its block":                               {with(func(s *v1beta2.EtcdBackupSpec) { s.S3 = nil }), "InvalidSpec", "the block s3"},
		"storageType OSS":                                    {with(func(s *v1beta2.EtcdBackupSpec) { s.StorageType = "OSS" }), "StorageNotSupported", "s3.endpoint"},
		"no source":                                          {endpoints(), "InvalidSpec", "etcdCluster.name or etcdEndpoints"},
		"a Unix socket as endpoint":                          {endpoints("unix:///run/etcd.sock"), "InvalidSpec", "https://host:2379"},
		"an endpoint without a host":                         {endpoints("http://:2379"), "InvalidSpec", "https://host:2379"},
		"an endpoint with a path":                            {endpoints("http://a:2379/v3"), "InvalidSpec", "https://host:2379"},
		"an endpoint that is not a URL":                      {endpoints("http://a b"), "InvalidSpec", "https://host:2379"},
		"a store's endpoint that is not a URL":               {with(func(s *v1beta2.EtcdBackupSpec) { s.S3.Endpoint = "minio:9000" }), "InvalidSpec", "https://host"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, problem := state.TargetOf("ns", "b", test.spec)
			if problem == nil {
				t.Fatal("accepted")
			}
			if problem.Reason != test.reason || !strings.Contains(problem.Message, test.says) {
				t.Errorf("%s: %s\nwant %s with %q", problem.Reason, problem.Message, test.reason, test.says)
			}
		})
	}
}

func TestNoPasswordIsRepeated(t *testing.T) {
	for name, spec := range map[string]v1beta2.EtcdBackupSpec{
		"a password in an endpoint of etcd": {EtcdEndpoints: []string{"https://root:hunter2@etcd:2379"}, StorageType: "S3", Storage: s3At("b/k").Storage},
		"a password in an invalid URL":      {EtcdEndpoints: []string{"https://root:hunter2@etcd:port"}, StorageType: "S3", Storage: s3At("b/k").Storage},
		"a password in a store's endpoint": {EtcdEndpoints: []string{"https://etcd:2379"}, StorageType: "S3", Storage: v1beta2.Storage{
			S3: &v1beta2.S3Source{Path: "b/k", Endpoint: "https://root:hunter2@s3:9000"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, problem := state.TargetOf("ns", "b", spec)
			if problem == nil {
				t.Fatal("accepted")
			}
			if strings.Contains(problem.Message, "hunter2") {
				t.Errorf("the message holds it: %s", problem.Message)
			}
		})
	}
}

var hourly = &v1beta2.BackupPolicy{BackupIntervalInSecond: 3600}
