// Package gcs stores objects in Google Cloud Storage.
//
// The identity needs storage.objects.create, .get, .list and .delete on the bucket (the role Storage Object User).
//
// Put relies on the precondition that the object does not exist, which GCS checks for single and resumable uploads. GCS
// does not charge for unfinished resumable uploads and deletes them after a week.
package gcs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"cloud.google.com/go/storage"
	"github.com/googleapis/gax-go/v2"
	"golang.org/x/oauth2"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"
	htransport "google.golang.org/api/transport/http"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/stall"
)

// attempts is the number of attempts of one request. chunkAttempts is that of requests after an upload has begun: it lets
// the upload survive a store outage of about 30 seconds.
const (
	attempts      = 6
	chunkAttempts = 12
)

// backoff is the pause between attempts.
var backoff = gax.Backoff{Initial: 200 * time.Millisecond, Max: 5 * time.Second, Multiplier: 2}

// Config is the bucket, the endpoint and the credentials of a store.
type Config struct {
	Bucket string
	// Endpoint is the URL of an emulator, such as http://127.0.0.1:4443, or of a private endpoint of Google. If empty,
	// STORAGE_EMULATOR_HOST names the emulator, and without that the endpoint is Google's.
	Endpoint string

	// At most one of these may be set. Without both, the library uses application default credentials, and sends them to
	// Google's hosts only. An endpoint with http:// gets no credentials, because anyone could read them on the way.
	CredentialsJSON []byte
	AccessToken     string
	// CredentialsFor are the endpoints beside Google's to which the owner of CredentialsJSON or AccessToken allows to send them.
	CredentialsFor string

	// KMSKeyName and StorageClass of new objects; if empty, the bucket's defaults.
	KMSKeyName   string
	StorageClass string

	// Patience is how long a request may make no progress before it is retried. Default: stall.DefaultLimit.
	Patience time.Duration
}

// Open prepares a store. It does not connect to the server yet.
func Open(ctx context.Context, c Config) (*Store, error) {
	opts, api, endpoint, err := c.options()
	if err != nil {
		return nil, fmt.Errorf("open GCS bucket %s: %w", c.Bucket, err)
	}
	// The client refreshes tokens with this context, so it must not end with the caller's.
	to := ""
	if !c.anonymous() {
		to = endpoint
	}
	client, err := newClient(context.WithoutCancel(ctx), c.Patience, opts, api, to)
	if err != nil {
		return nil, fmt.Errorf("open GCS bucket %s: %w", c.Bucket, err)
	}
	// By default, the library retries until the context ends and does not return the cause. With these settings it gives
	// up after about 6 seconds and returns the cause.
	client.SetRetry(storage.WithMaxAttempts(attempts),
		storage.WithBackoff(backoff))
	return &Store{
		bucket: c.Bucket, endpoint: endpoint, client: client, kmsKeyName: c.KMSKeyName, storageClass: c.StorageClass,
		identity: opts, anonymous: c.anonymous(),
	}, nil
}

// newClient returns a client whose requests fail if they make no progress.
func newClient(ctx context.Context, patience time.Duration, opts []option.ClientOption, api, to string) (*storage.Client, error) {
	// The library's default scopes would include all of Google Cloud.
	scopes := option.WithScopes(storage.ScopeReadWrite)
	authenticated, err := htransport.NewTransport(ctx, stall.Connections(), append(opts, scopes)...)
	if err != nil {
		return nil, err
	}
	transport := stall.Transport{Send: only(to, authenticated.RoundTrip), JSON: true}
	if patience > 0 {
		transport.Limit = func(*http.Request) time.Duration { return patience }
	}
	httpClient := &http.Client{Transport: transport, CheckRedirect: stall.SameServer}
	// Read with the JSON API too. The library's default is the XML API, which emulators support less well.
	final := []option.ClientOption{option.WithHTTPClient(httpClient), option.WithoutAuthentication(), storage.WithJSONReads()}
	if api != "" {
		final = append(final, option.WithEndpoint(api))
	}
	return storage.NewClient(ctx, final...)
}

// options returns the client options of the credentials. api is the URL of the JSON API, empty for Google's. shown is the
// endpoint in errors.
func (c Config) options() (opts []option.ClientOption, api, shown string, err error) {
	if len(c.CredentialsJSON) > 0 && c.AccessToken != "" {
		return nil, "", "", errors.New("both a credentials file and an access token are set: remove one of them")
	}
	anonymous := []option.ClientOption{option.WithoutAuthentication()}
	if c.Endpoint != "" {
		api, err = apiURL(c.Endpoint)
		if err == nil {
			err = c.allowed()
		}
		if err != nil || !c.trusted() {
			return anonymous, api, c.Endpoint, err
		}
		opts, err = c.credentials()
		return opts, api, c.Endpoint, err
	}
	if host := os.Getenv("STORAGE_EMULATOR_HOST"); host != "" {
		return anonymous, "", host, nil // the library reads the variable itself
	}
	opts, err = c.credentials()
	return opts, "", google, err
}

// only sends requests with credentials to one server. An answer may name another one, for example as the address of an upload.
func only(to string, send stall.Sender) stall.Sender {
	if to == "" {
		return send
	}
	return func(r *http.Request) (*http.Response, error) {
		if u, err := url.Parse(to); !googles(r.URL.String()) && (err != nil || u.Scheme != r.URL.Scheme || u.Host != r.URL.Host) {
			return nil, objstore.Own(errors.New("the store names another server, and the operator does not send credentials to it"))
		}
		return send(r)
	}
}

// trusted reports whether the endpoint gets credentials: those of the Secret over TLS, and the operator's own on Google's
// hosts only.
func (c Config) trusted() bool {
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Scheme != "https" {
		return false
	}
	return googles(c.Endpoint) || c.fromSecret() && objstore.Names(c.CredentialsFor, c.Endpoint)
}

func (c Config) fromSecret() bool { return len(c.CredentialsJSON) > 0 || c.AccessToken != "" }

// allowed refuses to send the credentials of a Secret to an endpoint that its owner did not name. A user who may create an object that
// names the Secret could read them otherwise.
func (c Config) allowed() error {
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Scheme != "https" || !c.fromSecret() || c.trusted() {
		return nil //nolint:nilerr // apiURL has parsed it
	}
	return fmt.Errorf("the operator sends the credentials of the Secret to Google's servers only. "+
		"To allow %s, write the key endpoint with this URL into the Secret", c.Endpoint)
}

// anonymous reports whether the endpoint gets no credentials.
func (c Config) anonymous() bool {
	if c.Endpoint != "" {
		return !c.trusted()
	}
	return os.Getenv("STORAGE_EMULATOR_HOST") != ""
}

// credentials returns the options of the credentials. Without any, the library finds the identity of the environment.
func (c Config) credentials() ([]option.ClientOption, error) {
	switch {
	case len(c.CredentialsJSON) > 0:
		kind, err := credentialsType(c.CredentialsJSON)
		return []option.ClientOption{option.WithAuthCredentialsJSON(kind, c.CredentialsJSON)}, err
	case c.AccessToken != "":
		token := &oauth2.Token{AccessToken: strings.TrimSpace(c.AccessToken)}
		return []option.ClientOption{option.WithTokenSource(oauth2.StaticTokenSource(token))}, nil
	}
	return nil, nil
}

// apiURL returns the URL of the JSON API of a server.
func apiURL(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return "", errors.New("endpoint is not a URL: write it as http://host:port")
	case u.User != nil:
		return "", errors.New("endpoint contains a user or password: move them to the Secret")
	case strings.ContainsAny(endpoint, "?#"):
		return "", errors.New("endpoint contains a query or a fragment: write it as http://host:port")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("endpoint %q is invalid: write it as http://host:port", endpoint)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/storage/v1/"
	}
	return u.String(), nil
}

// Get opens key.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	body, err := s.client.Bucket(s.bucket).Object(key).NewReader(stall.Object(ctx))
	if err != nil {
		return nil, s.wrap(ctx, "get", key, err)
	}
	return &reading{body, ctx, s, key}, nil
}

// reading names the object in errors.
type reading struct {
	io.ReadCloser
	ctx   context.Context //nolint:containedctx // it is the context of the request
	store *Store
	key   string
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, r.store.wrap(r.ctx, "get", r.key, err)
}

// List yields the objects whose key begins with prefix.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		query := &storage.Query{Prefix: prefix}
		if err := query.SetAttrSelection([]string{"Name", "Size", "Created"}); err != nil {
			yield(objstore.Object{}, s.wrap(ctx, "list", prefix, err))
			return
		}
		objects := s.client.Bucket(s.bucket).Objects(ctx, query)
		objects.PageInfo().MaxSize = objstore.PageSize
		for {
			page, err := pageOf(objects)
			if errors.Is(err, iterator.Done) {
				return
			}
			if err != nil {
				yield(objstore.Object{}, s.wrap(ctx, "list", prefix, err))
				return
			}
			if err := objstore.HoldNames(ctx, page, objstore.Object.Name, objects.PageInfo().Token); err != nil {
				yield(objstore.Object{}, err)
				return
			}
			for _, object := range page {
				if !yield(object, nil) {
					return
				}
			}
		}
	}
}

// pageOf returns the next page. The iterator holds the attributes until it has the page after it, so they are emptied.
func pageOf(objects *storage.ObjectIterator) ([]objstore.Object, error) {
	attrs, err := objects.Next()
	if err != nil {
		return nil, err
	}
	page := make([]objstore.Object, 0, 1+objects.PageInfo().Remaining())
	for {
		page = append(page, objstore.Object{Key: attrs.Name, Size: attrs.Size, ModTime: attrs.Created})
		if *attrs = (storage.ObjectAttrs{}); objects.PageInfo().Remaining() == 0 {
			return page, nil
		}
		if attrs, err = objects.Next(); err != nil {
			return nil, err
		}
	}
}

// Delete removes key.
func (s *Store) Delete(ctx context.Context, key string) error {
	// Delete is idempotent, so it may be retried.
	object := s.client.Bucket(s.bucket).Object(key).Retryer(storage.WithPolicy(storage.RetryAlways))
	err := object.Delete(ctx)
	if errors.Is(err, storage.ErrObjectNotExist) && !s.bucketMissing(ctx) {
		return nil
	}
	return s.wrap(ctx, "delete", key, err)
}
