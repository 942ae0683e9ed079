package connect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/objstore/gcs"
	"github.com/etcd-suite/etcd-operator/internal/objstore/s3"
)

func data(pairs ...string) map[string][]byte {
	secret := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		secret[pairs[i]] = []byte(pairs[i+1])
	}
	return secret
}

func TestS3Config(t *testing.T) {
	for name, test := range map[string]struct {
		location Location
		want     s3.Config
	}{
		"no Secret means the ambient identity": {
			Location{Bucket: "b", Region: "r"},
			s3.Config{Bucket: "b", Region: "r"},
		},
		"the old files are handed on": {
			Location{Bucket: "b", Endpoint: "http://e", ForcePathStyle: true, Secret: data("credentials", "[default]", "config", "[default]\nregion=x")},
			s3.Config{Bucket: "b", Endpoint: "http://e", ForcePathStyle: true, CredentialsFile: []byte("[default]"), ConfigFile: []byte("[default]\nregion=x")},
		},
		"plain keys lose the newline of an editor": {
			Location{Bucket: "b", Secret: data("access-key-id", "id\n", "secret-access-key", "key\n", "session-token", "t", "region", "r\n")},
			s3.Config{Bucket: "b", AccessKeyID: "id", SecretAccessKey: "key", SessionToken: "t", Region: "r"},
		},
		"the names of the environment work too": {
			Location{Bucket: "b", Secret: data("AWS_ACCESS_KEY_ID", "id", "AWS_SECRET_ACCESS_KEY", "key", "AWS_SESSION_TOKEN", "t", "AWS_REGION", "r")},
			s3.Config{Bucket: "b", AccessKeyID: "id", SecretAccessKey: "key", SessionToken: "t", Region: "r"},
		},
		"the spec's region wins": {
			Location{Bucket: "b", Region: "spec", Secret: data("access-key-id", "id", "secret-access-key", "key", "region", "secret")},
			s3.Config{Bucket: "b", AccessKeyID: "id", SecretAccessKey: "key", Region: "spec"},
		},
		"a CA alone goes with the ambient identity": {
			Location{Bucket: "b", Secret: data("ca.crt", "pem", "region", "r", "age-identity", "AGE-SECRET-KEY-1")},
			s3.Config{Bucket: "b", Region: "r", CABundle: []byte("pem")},
		},
		"a customer's key comes along where it is asked for": {
			Location{Bucket: "b", CustomerKey: true, Secret: data("sse-customer-key", "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=\n")},
			s3.Config{Bucket: "b", CustomerKey: []byte("kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk")},
		},
		"and is left where it is not": {
			Location{Bucket: "b", Secret: data("sse-customer-key", "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk")},
			s3.Config{Bucket: "b"},
		},
		"options are handed on": {
			Location{Bucket: "b", Options: Options{S3: s3.Options{StorageClass: "GLACIER_IR"}}},
			s3.Config{Bucket: "b", Options: s3.Options{StorageClass: "GLACIER_IR"}},
		},
		"a CA comes along": {
			Location{Bucket: "b", Secret: data("access-key-id", "id", "secret-access-key", "key", "ca.crt", "pem")},
			s3.Config{Bucket: "b", AccessKeyID: "id", SecretAccessKey: "key", CABundle: []byte("pem")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s3Config(test.location)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("config differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGCSConfig(t *testing.T) {
	for name, test := range map[string]struct {
		secret map[string][]byte
		want   gcs.Config
	}{
		"no Secret means the ambient identity": {nil, gcs.Config{Bucket: "b"}},
		"an identity of age alone":             {data("age-identity", "AGE-SECRET-KEY-1"), gcs.Config{Bucket: "b"}},
		"a file":                               {data("credentials.json", "{}"), gcs.Config{Bucket: "b", CredentialsJSON: []byte("{}")}},
		"a token":                              {data("access-token", "t\n"), gcs.Config{Bucket: "b", AccessToken: "t"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := gcsConfig(Location{Bucket: "b", Secret: test.secret})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("config differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		location Location
		want     []string
	}{
		"an empty S3 Secret":               {Location{Kind: S3, Bucket: "b", Secret: data()}, []string{"access-key-id", "credentials", "empty"}},
		"a misspelt key":                   {Location{Kind: S3, Bucket: "b", Secret: data("access_key", "VERYSECRET")}, []string{"it has access_key", "access-key-id"}},
		"half a pair":                      {Location{Kind: S3, Bucket: "b", Secret: data("access-key-id", "VERYSECRET")}, []string{"secret-access-key"}},
		"an empty value":                   {Location{Kind: S3, Bucket: "b", Secret: data("access-key-id", "VERYSECRET", "secret-access-key", "\n")}, []string{"secret-access-key"}},
		"two forms at once":                {Location{Kind: S3, Bucket: "b", Secret: data("credentials", "VERYSECRET", "access-key-id", "x", "secret-access-key", "y")}, []string{"keep one"}},
		"only the old config":              {Location{Kind: S3, Bucket: "b", Secret: data("config", "[default]")}, []string{"access-key-id"}},
		"an empty GCS Secret":              {Location{Kind: GCS, Bucket: "b", Secret: data()}, []string{"credentials.json", "access-token"}},
		"both GCS forms":                   {Location{Kind: GCS, Bucket: "b", Secret: data("credentials.json", "VERYSECRET", "access-token", "x")}, []string{"keep one"}},
		"no bucket":                        {Location{Kind: S3}, []string{"<bucket>/<key>"}},
		"a store that is not supported":    {Location{Kind: "ABS", Bucket: "b"}, []string{`"ABS"`, "S3 or GCS"}},
		"a directory that is not there":    {Location{Kind: File, Bucket: "/does/not/exist"}, []string{"/does/not/exist"}},
		"a store kind in another spelling": {Location{Kind: "s3", Bucket: "b"}, []string{`"s3"`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), test.location)
			if err == nil {
				t.Fatal("no error")
			}
			for _, text := range test.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("error %q does not say %q", err, text)
				}
			}
			if strings.Contains(err.Error(), "VERYSECRET") {
				t.Errorf("error shows a value: %v", err)
			}
		})
	}
}
