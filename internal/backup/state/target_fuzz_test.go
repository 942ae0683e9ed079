package state_test

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// FuzzPath checks that any path is used literally, or is refused with a reason and a message with the correction. It
// tests one-shots and series.
func FuzzPath(f *testing.F) {
	for _, path := range []string{
		"bucket/key", "bucket/folder/key.db", "my.bucket_1/a b/%d%s%n/100%.db", "bucket/größe/日本/e\u0301.db", "bucket/🙂 .db",
		"bucket/" + strings.Repeat("k", 1019), "bucket/" + strings.Repeat("k", 1020), "bucket/" + strings.Repeat("ü", 512), "bucket/" + strings.Repeat("k/", 512),
		"", "bucket", "bucket/", "/key", "bucket//key", "bucket/../other/key", "../bucket/key", "bucket/./key", "bucket/key/..", "..",
		"büket/key", "b%2Fucket/key", "bucket/a\nb", "bucket/\x00", "bucket/\xff", "bucket/key.json", "s3://bucket/key", "bucket\\key", " /key",
	} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		for _, series := range []bool{false, true} {
			spec := s3At(path)
			if series {
				spec.BackupPolicy = &v1beta2.BackupPolicy{BackupIntervalInSecond: 60}
			}
			got, problem := state.TargetOf("ns", "name", spec)
			if problem != nil {
				says := strings.Contains(problem.Message, "Write ")
				if problem.Reason != v1beta2.ReasonInvalidSpec || !says {
					t.Errorf("%q is refused as %s: %s", path, problem.Reason, problem.Message)
				}
				continue
			}
			if got.Bucket+"/"+got.Key != path || strings.ContainsAny(got.Bucket, "/%\\ ") {
				t.Errorf("%q is bucket %q and key %q", path, got.Bucket, got.Key)
			}
			key := got.Key
			if series {
				key = snapshot.Series{Folder: got.Key, Namespace: "ns", Cluster: "name"}.EncodedKey(time.Unix(0, 0), 42, codec.Encoding{})
				if parsed, ok := snapshot.ParseKey(key); !ok || parsed.Folder != got.Key {
					t.Errorf("%q makes the key %q, which is that of the folder %q", path, key, parsed.Folder)
				}
			}
			if err := snapshot.CheckKey(key); err != nil {
				t.Errorf("%q makes a key that cannot be saved: %v", path, err)
			}
		}
	})
}
