package connect_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
)

// wrongAnswer is what answers at an endpoint instead of a store that works.
type wrongAnswer struct {
	status int
	header map[string]string
	body   string
	kind   error
	// of are the providers that answer so; all if empty.
	of []v1beta2.StorageType
}

var wrongAnswers = map[string]wrongAnswer{
	"a proxy limits the body":             {413, nil, "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body><hr></body></html>", objstore.ErrTooLarge, nil},
	"a load balancer has no backends":     {503, nil, "<html><body><h1>503 Service Unavailable</h1>\nNo server is available\n<hr></body></html>", objstore.ErrUnavailable, nil},
	"a web server answers":                {404, nil, "<!DOCTYPE html><html><body>Not found<br></body></html>", objstore.ErrNoStore, nil},
	"a console answers":                   {405, nil, "<html><body>Method not allowed</body></html>", objstore.ErrNoStore, nil},
	"a firewall answers":                  {403, nil, "<html><body>blocked<hr></body></html>", fs.ErrPermission, nil},
	"S3 without conditional writes":       {501, map[string]string{"Content-Type": "application/xml"}, `<?xml version="1.0"?><Error><Code>NotImplemented</Code><Message>A header you provided implies functionality that is not implemented.</Message></Error>`, objstore.ErrNotImplemented, []v1beta2.StorageType{v1beta2.StorageS3}},
	"S3 in another region":                {400, map[string]string{"Content-Type": "application/xml"}, `<?xml version="1.0"?><Error><Code>AuthorizationHeaderMalformed</Code><Message>the region 'a' is wrong; expecting 'b'</Message><Region>b</Region></Error>`, objstore.ErrRegion, []v1beta2.StorageType{v1beta2.StorageS3}},
	"S3 redirects to another region":      {301, map[string]string{"X-Amz-Bucket-Region": "eu-west-1"}, "", objstore.ErrRegion, []v1beta2.StorageType{v1beta2.StorageS3}},
	"a proxy redirects to https":          {308, map[string]string{"Location": "https://s3.example.com/"}, "", objstore.ErrNoStore, []v1beta2.StorageType{v1beta2.StorageS3}},
	"S3 has no such bucket":               {404, map[string]string{"Content-Type": "application/xml"}, `<?xml version="1.0"?><Error><Code>NoSuchBucket</Code></Error>`, objstore.ErrNoBucket, []v1beta2.StorageType{v1beta2.StorageS3}},
	"S3 is busy":                          {503, map[string]string{"Content-Type": "application/xml"}, `<?xml version="1.0"?><Error><Code>SlowDown</Code></Error>`, objstore.ErrUnavailable, []v1beta2.StorageType{v1beta2.StorageS3}},
	"a store without the function":        {501, nil, "", objstore.ErrNotImplemented, []v1beta2.StorageType{v1beta2.StorageABS, v1beta2.StorageGCS}},
	"a store that limits the body itself": {413, nil, "", objstore.ErrTooLarge, []v1beta2.StorageType{v1beta2.StorageABS, v1beta2.StorageGCS}},
}

// Each of these was reported as StoreUnreachable with the advice to check the port, and the pages as an XML syntax error.
func TestEachWrongAnswerIsReportedByItsCause(t *testing.T) {
	t.Parallel()
	tested := map[error]bool{objstore.ErrListing: true} // by TestEachStoreEndsAListingWithoutEnd
	for name, answer := range wrongAnswers {
		tested[answer.kind] = true
		for _, provider := range storage.Providers() {
			if len(answer.of) > 0 && !slices.Contains(answer.of, provider) {
				continue
			}
			t.Run(fmt.Sprintf("%s: %s", provider, name), func(t *testing.T) {
				t.Parallel()
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					for key, value := range answer.header {
						w.Header().Set(key, value)
					}
					w.WriteHeader(answer.status)
					_, _ = io.WriteString(w, answer.body)
				}))
				t.Cleanup(server.Close)
				store, err := connect.Open(t.Context(), accessTo(provider, server.URL))
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err = store.Put(ctx, "folder/key", strings.NewReader("body"))
				if !errors.Is(err, answer.kind) {
					t.Errorf("put: the error is not %v: %v", answer.kind, err)
				}
				if text := fmt.Sprint(err); strings.Contains(text, "<") || strings.Contains(text, "XML syntax") || len(text) > 400 {
					t.Errorf("put: a person cannot read %s", text)
				}
				if p := problem.Of(err); p.Kind == nil || !errors.Is(answer.kind, p.Kind) {
					t.Errorf("put: the reason is %s", p.Reason)
				}
			})
		}
	}
	for _, kind := range objstore.Kinds() {
		if !tested[kind] {
			t.Errorf("no answer tests the kind %v", kind)
		}
	}
}

// accessTo returns a bucket at a URL.
func accessTo(provider v1beta2.StorageType, url string) connect.Access {
	location := storage.Location{Provider: provider, Bucket: "bucket", Endpoint: url, ForcePathStyle: true}
	var secret map[string][]byte
	switch provider {
	case v1beta2.StorageS3:
		secret = map[string][]byte{"access-key-id": []byte("key"), "secret-access-key": []byte("secret")}
	case v1beta2.StorageABS:
		location.Endpoint = url + "/account"
		secret = map[string][]byte{"storage-account": []byte("account"), "storage-key": []byte("c2VjcmV0")}
	}
	return connect.Access{Location: location, Data: secret, For: grant.Process()}
}
