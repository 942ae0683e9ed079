package connect_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// A user who may create an EtcdBackup, but not read Secrets, named a server of their own and a Secret of others. The server sent the signed request on
// to the real store, which accepts any name of a host, and read any object that the key can read.
func TestTheKeysOfASecretSignOnlyForTheServersThatItNames(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	for _, provider := range []v1beta2.StorageType{v1beta2.StorageS3, v1beta2.StorageABS} {
		for name, test := range map[string]struct {
			named  string // the key endpoint of the Secret, in which %s is the server
			strict bool
			signs  bool
		}{
			"the Secret names no server":                        {"", false, true},
			"the Secret names another server":                   {"https://store.example.com", false, false},
			"the Secret names a server that begins alike":       {"%s0", false, false},
			"the Secret names the server":                       {"%s\n", false, true},
			"the Secret names it with others":                   {"https://store.example.com, %s/", false, true},
			"the Secret names none, and the administrator asks": {"", true, false},
			"the Secret names it, and the administrator asks":   {"%s", true, true},
		} {
			t.Run(string(provider)+": "+name, func(t *testing.T) {
				access := accessTo(provider, server.URL)
				if test.named != "" {
					access.Data["endpoint"] = []byte(strings.ReplaceAll(test.named, "%s", access.Endpoint))
				}
				if test.strict {
					t.Cleanup(connect.NamedEndpoints(true))
				}
				asked.Store(0)
				store, err := connect.Open(t.Context(), access)
				if err == nil {
					_, err = store.Get(t.Context(), "payroll.csv")
				}
				if signs := asked.Load() > 0; signs != test.signs {
					t.Errorf("the server got a signature: %t: %v", signs, err)
				}
				if !test.signs && !strings.Contains(err.Error(), "key endpoint") {
					t.Errorf("the message does not say what to write: %v", err)
				}
			})
		}
		for _, strict := range []bool{false, true} {
			restore := connect.NamedEndpoints(strict)
			access := accessTo(provider, "")
			access.Endpoint = map[v1beta2.StorageType]string{v1beta2.StorageS3: "https://s3.eu-west-1.amazonaws.com", v1beta2.StorageABS: "https://account.blob.core.windows.net"}[provider]
			access.Data["endpoint"] = []byte(map[bool]string{true: "https://store.example.com"}[strict])
			if _, err := connect.Open(t.Context(), access); err != nil {
				t.Errorf("%s: the provider's own server needs an entry: %v", provider, err)
			}
			restore()
		}
	}
}
