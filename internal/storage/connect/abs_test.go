package connect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/objstore/abs"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

func TestABSConfig(t *testing.T) {
	for name, test := range map[string]struct {
		secret map[string][]byte
		want   abs.Config
	}{
		"no Secret means the ambient identity":                 {nil, abs.Config{}},
		"an account and its key":                               {data("storage-account", "acc\n", "storage-key", "a2V5\n"), abs.Config{Account: "acc", Key: "a2V5"}},
		"the three keys of the archived operator":              {data("storage-account", "acc", "storage-key", "a2V5", "cloud", "AzureChinaCloud"), abs.Config{Account: "acc", Key: "a2V5", Cloud: "AzureChinaCloud"}},
		"an account without a key means the ambient identity":  {data("storage-account", "acc", "cloud", "AzureChinaCloud"), abs.Config{Account: "acc", Cloud: "AzureChinaCloud"}},
		"an age identity alone means the ambient identity too": {data("age-identity", "AGE-SECRET-KEY-1"), abs.Config{}},
	} {
		t.Run(name, func(t *testing.T) {
			test.want.Container, test.want.Endpoint = "c", "https://e"
			got, err := absConfig(Access{Location: storage.Location{Bucket: "c", Endpoint: "https://e"}, Data: test.secret})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("config differs (-want +got):\n%s", diff)
			}
		})
	}
}
