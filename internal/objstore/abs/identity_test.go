package abs

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/etcd-suite/etcd-operator/internal/objstore/stall"
)

// Stores were reached through the administrator's proxy, and the server that gives the operators their tokens was not.
func TestTokensOfTheOwnIdentityAreRequestedThroughTheProxy(t *testing.T) {
	for name, value := range map[string]string{"AZURE_TENANT_ID": "tenant", "AZURE_CLIENT_ID": "client", "AZURE_CLIENT_SECRET": "secret"} {
		t.Setenv(name, value)
	}
	before := http.DefaultTransport
	http.DefaultTransport = before.(*http.Transport).Clone()
	t.Cleanup(func() {
		http.DefaultTransport = before
		stall.Configure(nil, nil)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var asked atomic.Bool
	stall.Configure(func(*http.Request) (*url.URL, error) {
		asked.Store(true)
		cancel() // the library would try again
		return nil, errors.New("the proxy is not there")
	}, nil)
	store, err := Config{Container: "c", Account: "account"}.open()
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.identity.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{"https://storage.azure.com/.default"}})
	if err == nil || !asked.Load() {
		t.Errorf("the proxy was not asked, error %v", err)
	}
}
