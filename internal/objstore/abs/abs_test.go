package abs

import (
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

func TestServiceURL(t *testing.T) {
	for name, test := range map[string]struct {
		config Config
		want   string
	}{
		"an account is in the public cloud":          {Config{Account: "account", Key: "a2V5"}, "https://account.blob.core.windows.net"},
		"an account in another cloud":                {Config{Account: "account", Key: "a2V5", Cloud: "AzureChinaCloud"}, "https://account.blob.core.chinacloudapi.cn"},
		"a cloud in the archived operator's letters": {Config{Account: "account", Key: "a2V5", Cloud: "AZUREUSGOVERNMENTCLOUD"}, "https://account.blob.core.usgovcloudapi.net"},
		"an endpoint is taken as it is":              {Config{Account: "account", Key: "a2V5", Endpoint: "http://azurite:10000/account"}, "http://azurite:10000/account"},
		"an endpoint of Azure needs no Secret":       {Config{Endpoint: "https://account.blob.core.windows.net"}, "https://account.blob.core.windows.net"},
		"an account needs no key":                    {Config{Account: "account"}, "https://account.blob.core.windows.net"},
	} {
		t.Run(name, func(t *testing.T) {
			test.config.Container = "c"
			store, err := Open(test.config)
			if err != nil {
				t.Fatal(err)
			}
			if store.endpoint != test.want || !strings.HasPrefix(store.client.URL(), test.want+"/c") {
				t.Errorf("endpoint %s, container %s, want %s", store.endpoint, store.client.URL(), test.want)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		config Config
		says   string
	}{
		"a password in the endpoint":      {Config{Account: "account", Key: "a2V5", Endpoint: "https://u:hunter2@host"}, "without user"},
		"an account that is a host":       {Config{Account: "evil.example/", Key: "a2V5"}, "lower case"},
		"a key that is no base64":         {Config{Account: "account", Key: "hunter2!"}, "base64"},
		"its own identity to other hosts": {Config{Endpoint: "https://evil.example"}, "ambient identity"},
		"its own identity without TLS":    {Config{Endpoint: "http://account.blob.core.windows.net"}, "ambient identity"},
		"its own identity to a lookalike": {Config{Endpoint: "https://evil.example/.blob.core.windows.net"}, "ambient identity"},
		"its own identity to a subdomain": {Config{Endpoint: "https://a.b.blob.core.windows.net"}, "ambient identity"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(test.config)
			if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v, want one with %q", err, test.says)
			}
		})
	}
}

func TestAnswersOfAzureAreClassified(t *testing.T) {
	s := &Store{container: "c", endpoint: "https://account.blob.core.windows.net"}
	for code, test := range map[string]struct {
		status int
		want   error
	}{
		"ContainerNotFound":         {http.StatusNotFound, objstore.ErrNoBucket},
		"BlobNotFound":              {http.StatusNotFound, fs.ErrNotExist},
		"BlobAlreadyExists":         {http.StatusConflict, fs.ErrExist},
		"ConditionNotMet":           {http.StatusPreconditionFailed, fs.ErrExist},
		"BlobImmutableDueToPolicy":  {http.StatusConflict, fs.ErrPermission},
		"BlobArchived":              {http.StatusConflict, fs.ErrPermission},
		"BlobBeingRehydrated":       {http.StatusConflict, fs.ErrPermission},
		"AuthenticationFailed":      {http.StatusForbidden, fs.ErrPermission},
		"InvalidAuthenticationInfo": {http.StatusUnauthorized, fs.ErrPermission},
		"ServerBusy":                {http.StatusServiceUnavailable, nil},
		"":                          {http.StatusNotFound, nil},
	} {
		err := s.wrap("get", "key", &azcore.ResponseError{ErrorCode: code, StatusCode: test.status})
		for _, kind := range []error{objstore.ErrNoBucket, fs.ErrNotExist, fs.ErrExist, fs.ErrPermission} {
			if want := test.want != nil && errors.Is(test.want, kind); errors.Is(err, kind) != want {
				t.Errorf("%q: %v is %v: %v, want only %v", code, err, kind, errors.Is(err, kind), test.want)
			}
		}
		if text := err.Error(); !strings.Contains(text, `get "key" in ABS container c at https://account`) || !strings.Contains(text, code) {
			t.Errorf("%q: %s", code, text)
		}
	}
}

func TestABlockThatChangedOnItsWayIsSentAgain(t *testing.T) {
	for code, want := range map[string]bool{"Md5Mismatch": true, "InvalidBlockId": false} {
		response := &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{"X-Ms-Error-Code": {code}}}
		if got := mayPass(response, nil); got != want {
			t.Errorf("%s is sent again: %v", code, got)
		}
	}
}
