package connect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/objstore/gcs"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

func TestGCSConfig(t *testing.T) {
	for name, test := range map[string]struct {
		secret map[string][]byte
		want   gcs.Config
	}{
		"no Secret means the ambient identity": {nil, gcs.Config{Bucket: "b"}},
		"an identity of age alone":             {data("age-identity", "AGE-SECRET-KEY-1"), gcs.Config{Bucket: "b"}},
		"a file":                               {data("credentials.json", "{}"), gcs.Config{Bucket: "b", CredentialsJSON: []byte("{}")}},
		"a token for an endpoint":              {data("access-token", "t", "endpoint", "https://e\n"), gcs.Config{Bucket: "b", AccessToken: "t", CredentialsFor: "https://e"}},
		"a token":                              {data("access-token", "t\n"), gcs.Config{Bucket: "b", AccessToken: "t"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := gcsConfig(Access{Location: storage.Location{Bucket: "b"}, Data: test.secret})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("config differs (-want +got):\n%s", diff)
			}
		})
	}
}
