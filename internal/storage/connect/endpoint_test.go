package connect_test

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// platform is a list that allows team-a a part of the bucket.
var platform = grant.List{{Namespaces: []string{"team-a"}, PathPrefix: "platform/{namespace}/"}}

// endpointAt is an object that the list allows to team-a, at an endpoint.
func endpointAt(provider v1beta2.StorageType, endpoint string, secret map[string][]byte) connect.Access {
	return connect.Access{
		Location: storage.Location{Provider: provider, Bucket: "platform", Key: "team-a/x.db", Endpoint: endpoint},
		Data:     secret, For: platform.Of("team-a"),
	}
}

// A store takes the path of an endpoint for a part of an object's name. So a tenant wrote below the prefix of another namespace, and into any
// bucket of the operator's identity, with a path that the list allows.
func TestAnEndpointLeadsToNoOtherObjectThanThePath(t *testing.T) {
	s3Keys := map[string][]byte{"access-key-id": []byte("key"), "secret-access-key": []byte("secret")}
	absKeys := map[string][]byte{"storage-account": []byte("account"), "storage-key": []byte("c2VjcmV0")}
	token := map[string][]byte{"access-token": []byte("t")}
	const azure = "https://account.blob.core.windows.net"
	for _, test := range []struct {
		provider  v1beta2.StorageType
		endpoint  string
		secret    map[string][]byte
		pathStyle bool
		refused   string // what the message says, and empty if the endpoint is used
	}{
		{"S3", "", nil, false, ""},
		{"S3", "https://s3.eu-central-1.amazonaws.com", nil, false, ""},
		{"S3", "https://s3.eu-central-1.amazonaws.com/", nil, true, ""},
		{"S3", "https://bucket.vpce-1a2b-3c.s3.us-east-1.vpce.amazonaws.com", nil, false, ""},
		{"S3", "http://minio.store.svc:9000", nil, true, ""},
		{"S3", "http://10.0.0.1:9000", nil, false, ""},
		{"S3", "http://[fd00::7]:7070", nil, false, ""},
		{"S3", "http://minio.store.svc:9000", nil, false, "forcePathStyle"},
		{"S3", "http://minio.store.svc:9000/platform/team-b", nil, true, "without a path"},
		{"S3", "http://minio.store.svc:9000/platform/team-b", s3Keys, true, "without a path"},
		{"S3", "http://minio.store.svc:9000//", nil, true, "without a path"},
		{"S3", "http://minio.store.svc:9000/%2e", nil, true, "without a path"},
		{"S3", "https://other.s3.amazonaws.com", nil, true, "without a bucket"},
		{"S3", "https://OTHER.s3.eu-central-1.amazonaws.com:443", nil, true, "without a bucket"},
		{"S3", "https://other.s3.amazonaws.com.", nil, true, "without a bucket"},
		{"S3", "https://point-1.s3-accesspoint.eu-central-1.amazonaws.com", s3Keys, true, "without a bucket"},
		{"S3", "https://other.bucket.vpce-1a2b-3c.s3.us-east-1.vpce.amazonaws.com", nil, true, "without a bucket"},
		{"GCS", "", nil, false, ""},
		{"GCS", "https://storage.googleapis.com", nil, false, ""},
		{"GCS", "https://storage.europe-west3.rep.googleapis.com", nil, false, ""},
		{"GCS", "https://storage.googleapis.com/storage/v1/b/other", nil, false, "without a path"},
		{"GCS", "https://storage.googleapis.com/b", token, false, "without a path"},
		{"GCS", "https://other.storage.googleapis.com", nil, false, "without a bucket"},
		{"ABS", azure, nil, false, ""},
		{"ABS", azure + "/", absKeys, false, ""},
		{"ABS", azure + "/other", nil, false, "without a path"},
		{"ABS", azure + "/account", absKeys, false, "without a path"},
		{"ABS", "http://azurite:10000/account", absKeys, false, ""},
		{"ABS", "http://azurite:10000/account/", absKeys, false, ""},
		{"ABS", "http://azurite:10000/account/platform/team-b", absKeys, false, "/<account>"},
		{"ABS", "http://azurite:10000/other", absKeys, false, "/<account>"},
		{"ABS", "http://azurite:10000/account//", absKeys, false, "/<account>"},
		{"ABS", "http://azurite:10000/%61ccount", absKeys, false, "/<account>"},
	} {
		access := endpointAt(test.provider, test.endpoint, test.secret)
		access.ForcePathStyle = test.pathStyle
		err := access.Check()
		want := grant.ErrPath
		if test.secret == nil {
			want = grant.ErrOwnIdentity
		}
		switch {
		case test.refused == "" && err != nil:
			t.Errorf("%s %s: %v", test.provider, test.endpoint, err)
		case test.refused != "" && (!errors.Is(err, want) || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), test.refused)):
			t.Errorf("%s %s, with a Secret %t: %v", test.provider, test.endpoint, test.secret != nil, err)
		}
		if reason, advice := grant.Explain(err, "backupOperator.ownIdentity"); err != nil && (!grant.Refused(reason) || !strings.Contains(advice, "backupOperator.ownIdentity")) {
			t.Errorf("%s %s: the status has the reason %q and says %q", test.provider, test.endpoint, reason, advice)
		}
		access.Bucket = "mine"
		if err := access.Check(); test.secret != nil && err != nil {
			t.Errorf("%s %s: the owner of a bucket of their own is refused: %v", test.provider, test.endpoint, err)
		}
		access.Bucket, access.For = "platform", grant.List{{Namespaces: []string{grant.All}, PathPrefix: grant.All}}.Of("team-a")
		if err := access.Check(); err != nil {
			t.Errorf("%s %s: a namespace that may use each path is refused: %v", test.provider, test.endpoint, err)
		}
	}
}

// A new provider would have no comparison of its endpoint.
func TestEachProviderComparesItsEndpoint(t *testing.T) {
	for _, provider := range storage.Providers() {
		access := accessTo(provider, "https://store.example.com")
		access.Bucket, access.Key, access.For = "platform", "team-a/x.db", platform.Of("team-a")
		access.Endpoint = "https://store.example.com/platform/team-b"
		if _, err := connect.Open(t.Context(), access); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", provider, err)
		}
	}
}

// An endpoint that ends in "#" or "?" has an empty fragment or query. The SDK of Azure joins texts, so it asked for the path of the endpoint, and
// a tenant read the snapshots of another namespace.
func TestAnEndpointWithAFragmentOrAQueryIsRefused(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	for _, provider := range storage.Providers() {
		for _, end := range []string{"#", "?", "?#", "/#", "/?", "#x", "?x"} {
			access := accessTo(provider, server.URL)
			access.Endpoint += end
			store, err := connect.Open(t.Context(), access)
			if err == nil {
				_, err = store.Get(t.Context(), "x.db")
			}
			if err == nil || asked.Load() > 0 {
				t.Fatalf("%s %q: the store was asked: %v", provider, end, err)
			}
		}
	}
}
