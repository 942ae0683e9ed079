package connect

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

func data(pairs ...string) map[string][]byte {
	secret := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		secret[pairs[i]] = []byte(pairs[i+1])
	}
	return secret
}

func at(provider v1beta2.StorageType, bucket string, secret map[string][]byte) Access {
	return Access{Location: storage.Location{Provider: provider, Bucket: bucket}, Data: secret, For: grant.Process()}
}

func TestEveryProviderOfASpecCanBeOpened(t *testing.T) {
	for _, name := range storage.Providers() {
		if stores[name] == nil {
			t.Errorf("%s has no entry", name)
		}
	}
	if storage.Supported(File) {
		t.Error("a spec can name a directory of the operator")
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		access Access
		want   []string
	}{
		"an empty S3 Secret":               {at("S3", "b", data()), []string{"access-key-id", "credentials", "empty"}},
		"a misspelt key":                   {at("S3", "b", data("access_key", "VERYSECRET")), []string{"it has access_key", "access-key-id"}},
		"half a pair":                      {at("S3", "b", data("access-key-id", "VERYSECRET")), []string{"secret-access-key"}},
		"an empty value":                   {at("S3", "b", data("access-key-id", "VERYSECRET", "secret-access-key", "\n")), []string{"secret-access-key"}},
		"two forms at once":                {at("S3", "b", data("credentials", "VERYSECRET", "access-key-id", "x", "secret-access-key", "y")), []string{"keep one"}},
		"only the old config":              {at("S3", "b", data("config", "[default]")), []string{"access-key-id"}},
		"an empty GCS Secret":              {at("GCS", "b", data()), []string{"credentials.json", "access-token"}},
		"both GCS forms":                   {at("GCS", "b", data("credentials.json", "VERYSECRET", "access-token", "x")), []string{"keep one"}},
		"an empty ABS Secret":              {at("ABS", "b", data()), []string{"storage-account", "storage-key", "empty"}},
		"an empty storage-key":             {at("ABS", "b", data("storage-account", "account", "storage-key", "")), []string{"storage-key"}},
		"a storage-key without an account": {at("ABS", "b", data("storage-key", "VERYSECRET")), []string{"storage-account"}},
		"a storage-key that is no base64":  {at("ABS", "b", data("storage-account", "account", "storage-key", "VERYSECRET!")), []string{"base64"}},
		"an unknown Azure cloud":           {at("ABS", "b", data("storage-account", "account", "cloud", "AzureGermanCloud")), []string{"AzurePublicCloud", "abs.endpoint"}},
		"no account and no endpoint":       {at("ABS", "b", nil), []string{"storage-account", "abs.endpoint"}},
		"no bucket":                        {at("S3", "", nil), []string{"<bucket>/<key>"}},
		"a store that is not supported":    {at("OSS", "b", nil), []string{`"OSS"`, "S3, GCS or ABS"}},
		"a directory that is not there":    {at(File, "/does/not/exist", nil), []string{"/does/not/exist"}},
		"a store kind in another spelling": {at("s3", "b", nil), []string{`"s3"`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), test.access)
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

// A namespace that may not use the operator's identity used it by a Secret for GCS that had only the key endpoint.
func TestASecretWithoutCredentialsMeansTheOwnIdentity(t *testing.T) {
	for _, provider := range storage.Providers() {
		for _, key := range slices.Concat(s3Ambient, gcsAmbient, absAmbient, []string{"ca.crt", "sse-customer-key", "age-identity"}) {
			a := at(provider, "b", data(key, "value"))
			if a.For = (grant.Scope{Namespace: "team-a"}); !errors.Is(a.Check(), grant.ErrOwnIdentity) {
				t.Errorf("%s: a Secret that has only %s gets the operator's own identity", provider, key)
			}
		}
	}
}
