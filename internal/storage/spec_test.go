package storage

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

func s3At(path string) Spec {
	return Spec{Field: "storageType", Type: v1beta2.StorageS3, Block: v1beta2.Storage{S3: &v1beta2.S3Source{Path: path}}}
}

func folderAt(path string) Spec {
	s := s3At(path)
	s.Folder = true
	return s
}

func TestABlockIsTranslatedIntoALocation(t *testing.T) {
	options := v1beta2.S3Options{StorageClass: "STANDARD_IA", ServerSideEncryption: &v1beta2.S3Encryption{Type: v1beta2.SSEC}}
	instead := s3At("b/k")
	instead.Path = "b/newest.db"
	for name, test := range map[string]struct {
		spec Spec
		want Location
	}{
		"every field of S3": {
			Spec{Type: v1beta2.StorageS3, Block: v1beta2.Storage{S3: &v1beta2.S3Source{
				Path: "b/k", AWSSecret: "aws", Endpoint: "http://s3:7070", Region: "eu-1", ForcePathStyle: true, S3Options: options,
			}}},
			Location{
				Provider: "S3", Bucket: "b", Key: "k", Secret: "aws", Endpoint: "http://s3:7070", Region: "eu-1", ForcePathStyle: true,
				CustomerKey: true, Options: Options{S3: options},
			},
		},
		"every field of GCS": {
			Spec{Type: v1beta2.StorageGCS, Block: v1beta2.Storage{GCS: &v1beta2.GCSSource{
				Path: "b/k", GCPSecret: "gcp", Endpoint: "http://gcs:4443", GCSOptions: v1beta2.GCSOptions{StorageClass: "NEARLINE"},
			}}},
			Location{
				Provider: "GCS", Bucket: "b", Key: "k", Secret: "gcp", Endpoint: "http://gcs:4443",
				Options: Options{GCS: v1beta2.GCSOptions{StorageClass: "NEARLINE"}},
			},
		},
		"every field of ABS": {
			Spec{Type: v1beta2.StorageABS, Block: v1beta2.Storage{ABS: &v1beta2.ABSSource{
				Path: "container/k", ABSSecret: "azure", Endpoint: "http://azurite:10000/account",
			}}},
			Location{Provider: "ABS", Bucket: "container", Key: "k", Secret: "azure", Endpoint: "http://azurite:10000/account"},
		},
		"a path that is taken literally":   {s3At("my-bucket/a b/%d%s/ü+&=.db"), Location{Provider: "S3", Bucket: "my-bucket", Key: "a b/%d%s/ü+&=.db"}},
		"another path than the block's":    {instead, Location{Provider: "S3", Bucket: "b", Key: "newest.db"}},
		"a folder":                         {folderAt("b/daily"), Location{Provider: "S3", Bucket: "b", Key: "daily/"}},
		"a folder with a slash at its end": {folderAt("b/daily//"), Location{Provider: "S3", Bucket: "b", Key: "daily/"}},
		"a whole bucket as the folder":     {folderAt("b"), Location{Provider: "S3", Bucket: "b"}},
		"a key that begins with a slash":   {s3At("b//k/l"), Location{Provider: "S3", Bucket: "b", Key: "/k/l"}},
		"a long key":                       {s3At("b/" + strings.Repeat("k", 1000)), Location{Provider: "S3", Bucket: "b", Key: strings.Repeat("k", 1000)}},
	} {
		t.Run(name, func(t *testing.T) {
			got, problem := test.spec.Location()
			if problem != nil {
				t.Fatalf("refused: %+v", problem)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestARefusalSaysWhatToWrite(t *testing.T) {
	of := func(kind v1beta2.StorageType) Spec { return Spec{Field: "backupStorageType", Type: kind} }
	at := func(endpoint string) Spec {
		s := s3At("b/k")
		s.Block.S3.Endpoint = endpoint
		return s
	}
	for name, test := range map[string]struct {
		spec   Spec
		reason string
		says   string
	}{
		"a path without a key":          {s3At("bucket"), v1beta2.ReasonInvalidSpec, `Write "<bucket>/<key>"`},
		"a path with an empty key":      {s3At("bucket/"), v1beta2.ReasonInvalidSpec, `Write "<bucket>/<key>"`},
		"a path with an empty bucket":   {s3At("/key"), v1beta2.ReasonInvalidSpec, `Write "<bucket>/<key>"`},
		"an empty path":                 {s3At(""), v1beta2.ReasonInvalidSpec, `Write "<bucket>/<key>"`},
		"a folder instead of an object": {s3At("bucket/folder/"), v1beta2.ReasonInvalidSpec, `Write "<bucket>/<key>"`},
		"an empty path of a folder":     {folderAt(""), v1beta2.ReasonInvalidSpec, `Write "<bucket>/<folder>"`},
		"a URL in place of a path":      {s3At("s3://bucket/key"), v1beta2.ReasonInvalidSpec, "the bucket's name may have"},
		"a bucket with other letters":   {folderAt("büket/key"), v1beta2.ReasonInvalidSpec, "the bucket's name may have"},
		"S3 without its block":          {of("S3"), v1beta2.ReasonInvalidSpec, "backupStorageType S3 needs the block s3"},
		"GCS without its block":         {of("GCS"), v1beta2.ReasonInvalidSpec, "needs the block gcs"},
		"an endpoint without a scheme":  {at("minio:9000"), v1beta2.ReasonInvalidSpec, "Write https://host"},
		"an endpoint with a password":   {at("https://root:hunter2@s3:9000"), v1beta2.ReasonInvalidSpec, "without user and password"},
		"an endpoint with a query":      {at("https://s3?a=b"), v1beta2.ReasonInvalidSpec, "Write https://host"},
		"an endpoint with an empty one": {at("https://s3/other/x.db?"), v1beta2.ReasonInvalidSpec, "Write https://host"},
		"an endpoint with a fragment":   {at("https://s3/other/x.db#"), v1beta2.ReasonInvalidSpec, "Write https://host"},
		"ABS without its block":         {of("ABS"), v1beta2.ReasonInvalidSpec, "needs the block abs"},
		"Alibaba":                       {of("OSS"), v1beta2.ReasonStorageNotSupported, "s3.endpoint"},
		"an unknown storage type":       {of("Tape"), v1beta2.ReasonStorageNotSupported, `backupStorageType "Tape" is not supported. Write S3, GCS or ABS.`},
		"no storage type":               {of(""), v1beta2.ReasonStorageNotSupported, "Write S3, GCS or ABS."},
	} {
		t.Run(name, func(t *testing.T) {
			_, problem := test.spec.Location()
			if problem == nil {
				t.Fatal("accepted")
			}
			if problem.Reason != test.reason || !strings.Contains(problem.Message, test.says) {
				t.Errorf("%s: %s\nwant %s with %q", problem.Reason, problem.Message, test.reason, test.says)
			}
			if strings.Contains(problem.Message, "hunter2") {
				t.Errorf("the message repeats a password: %s", problem.Message)
			}
		})
	}
}

// TestSourceIsTheInverseOfFromSource fails if a field of one of the two types is forgotten.
func TestSourceIsTheInverseOfFromSource(t *testing.T) {
	want := v1beta2.RestoreSource{
		StorageType: "S3", Bucket: "b", Key: "k", Endpoint: "http://e", Region: "r", ForcePathStyle: true, CustomerKey: true, Secret: "s",
	}
	for i, v := 0, reflect.ValueOf(want); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Fatalf("this test does not set %s", v.Type().Field(i).Name)
		}
	}
	if diff := cmp.Diff(want, FromSource(want).Source()); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// FuzzPath checks that every path is taken literally or refused with a message that says what to write.
func FuzzPath(f *testing.F) {
	for _, path := range []string{
		"bucket/key", "bucket/folder/key.db", "my.bucket_1/a b/%d%s%n/100%.db", "bucket/größe/日本/e\u0301.db", "bucket/🙂 .db",
		"", "bucket", "bucket/", "/key", "bucket//key", "bucket/../other/key", "../bucket/key", "bucket/key/..", "..", "büket/key",
		"b%2Fucket/key", "bucket/a\nb", "bucket/\x00", "bucket/\xff", "s3://bucket/key", "bucket\\key", " /key",
	} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got, problem := s3At(path).Location()
		switch {
		case problem != nil:
			if problem.Reason != v1beta2.ReasonInvalidSpec || !strings.Contains(problem.Message, "Write ") {
				t.Errorf("%q is refused as %s: %s", path, problem.Reason, problem.Message)
			}
		case got.Path() != path || strings.ContainsAny(got.Bucket, "/%\\ ") || got.Bucket == "" || got.Key == "":
			t.Errorf("%q is bucket %q and key %q", path, got.Bucket, got.Key)
		}
	})
}
