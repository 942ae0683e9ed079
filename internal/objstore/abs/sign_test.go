package abs

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

type fixedToken struct{}

func (fixedToken) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "hunter2", ExpiresOn: time.Now().Add(time.Hour)}, nil
}

func TestSignedURLIsAUserDelegationForOneBlob(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, _ := io.ReadAll(r.Body)
		if r.URL.Query().Get("comp") != "userdelegationkey" || !strings.Contains(string(asked), "<Expiry>") {
			t.Errorf("request %s with %s", r.URL, asked)
		}
		_, _ = io.WriteString(w, `<?xml version="1.0"?><UserDelegationKey><SignedOid>o</SignedOid><SignedTid>t</SignedTid>`+
			`<SignedStart>2026-01-01T00:00:00Z</SignedStart><SignedExpiry>2026-01-01T01:00:00Z</SignedExpiry>`+
			`<SignedService>b</SignedService><SignedVersion>2020-02-10</SignedVersion><Value>a2V5</Value></UserDelegationKey>`)
	}))
	defer server.Close()
	options := azcore.ClientOptions{Transport: server.Client()}
	client, err := container.NewClient(server.URL+"/c", fixedToken{}, &container.ClientOptions{ClientOptions: options})
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{container: "c", endpoint: server.URL, client: client, identity: fixedToken{}, options: options}
	signed, err := s.SignGet(t.Context(), "a/b c.db", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(signed.URL)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	if u.Path != "/c/a/b c.db" || query.Get("sp") != "r" || query.Get("sr") != "b" || query.Get("sig") == "" || query.Get("skoid") != "o" {
		t.Errorf("URL %s", signed.URL)
	}
	if left := time.Until(signed.Expires); left < 59*time.Minute || left > time.Hour {
		t.Errorf("it expires in %s", left)
	}
}

func TestAStoreThatWasOpenedWithAKeySignsNothing(t *testing.T) {
	s, err := Open(Config{Container: "c", Account: "account", Key: "a2V5"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.SignGet(t.Context(), "k", time.Hour); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v", err)
	}
}
