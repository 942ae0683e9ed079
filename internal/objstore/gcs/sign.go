package gcs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"cloud.google.com/go/storage"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// signTimeout limits the signing by Google, which the library would try without end.
const signTimeout = 30 * time.Second

// SignGet signs a URL to read key. If the identity has no private key, Google signs, and the identity needs the permission
// iam.serviceAccounts.signBlob on its own service account.
func (s *Store) SignGet(ctx context.Context, key string, lifetime time.Duration) (objstore.SignedURL, error) {
	signed := objstore.SignedURL{Expires: time.Now().Add(lifetime)}
	var err error
	if signed.URL, err = s.sign(ctx, key, signed.Expires); err != nil {
		return objstore.SignedURL{}, s.wrap(ctx, "sign", key, err)
	}
	return signed, nil
}

func (s *Store) sign(ctx context.Context, key string, expires time.Time) (string, error) {
	if s.anonymous {
		return "", objstore.Own(fmt.Errorf("%w: this endpoint gets no credentials", errors.ErrUnsupported))
	}
	// The client for reading has its credentials in its transport, where the library does not find them.
	client, err := storage.NewClient(ctx, s.identity...)
	if err != nil {
		return "", err
	}
	options := &storage.SignedURLOptions{Scheme: storage.SigningSchemeV4, Method: http.MethodGet, Expires: expires}
	if u, err := url.Parse(s.endpoint); err == nil && u.Host != "" {
		options.Hostname = u.Host
	}
	type result struct {
		url string
		err error
	}
	done := make(chan result, 1)
	go panics.Caught(func() {
		defer func() { _ = client.Close() }()
		url, err := client.Bucket(s.bucket).SignedURL(key, options)
		done <- result{url, err}
	}, func(err error) { done <- result{err: objstore.Own(err)} })()
	select {
	case r := <-done:
		return r.url, r.err
	case <-time.After(signTimeout):
		return "", objstore.Own(fmt.Errorf("no signature from Google within %s", signTimeout))
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
