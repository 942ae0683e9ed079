// Package gcs keeps objects in Google Cloud Storage.
//
// The identity needs, on the bucket, storage.objects.create, .get, .list and
// .delete (the role Storage Object User).
//
// Put relies on the precondition that the object has no generation yet, which GCS
// checks for single and for resumable uploads. An unfinished resumable upload is
// no object, costs nothing, and is forgotten by GCS after a week.
package gcs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
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

// chunkSize is what one Put buffers, to send it again where that is needed.
const chunkSize = 8 << 20

// chunkDeadline is for all attempts at one chunk; a store may be silent for a while in each.
const chunkDeadline = 5 * time.Minute

// attempts of one request, the first included; chunkAttempts of what is within an upload:
// much has been sent by then, and a pause of the store of half a minute should not cost it.
const (
	attempts      = 6
	chunkAttempts = 12
)

// Config says which bucket, and who asks.
type Config struct {
	Bucket string
	// Endpoint is the URL of an emulator, such as http://127.0.0.1:4443. Empty is
	// Google, or what STORAGE_EMULATOR_HOST names.
	Endpoint string

	// At most one of these. With neither, the ambient identity is found by
	// Google's rules (application default credentials). An emulator gets neither.
	CredentialsJSON []byte
	AccessToken     string

	// KMSKeyName and StorageClass of what Put writes; empty leaves them to the bucket.
	KMSKeyName   string
	StorageClass string

	// Patience is how long the store may be silent before a request is tried again; 0 is stall.DefaultLimit.
	Patience time.Duration
}

// Store is a bucket.
type Store struct {
	bucket       string
	endpoint     string
	client       *storage.Client
	kmsKeyName   string
	storageClass string
}

// Open prepares a store. It does not speak to the server yet.
func Open(ctx context.Context, c Config) (*Store, error) {
	opts, api, endpoint, err := c.options()
	if err != nil {
		return nil, fmt.Errorf("open GCS bucket %s: %w", c.Bucket, err)
	}
	// The client outlives this call, and so must its context: it carries tokens.
	client, err := newClient(context.WithoutCancel(ctx), c.Patience, opts, api)
	if err != nil {
		return nil, fmt.Errorf("open GCS bucket %s: %w", c.Bucket, err)
	}
	// The library would try until the context ends, and then not say why it could
	// not: with these it gives up after some 6 s with the cause.
	client.SetRetry(storage.WithMaxAttempts(attempts),
		storage.WithBackoff(gax.Backoff{Initial: 200 * time.Millisecond, Max: 5 * time.Second, Multiplier: 2}))
	return &Store{
		bucket: c.Bucket, endpoint: endpoint, client: client, kmsKeyName: c.KMSKeyName, storageClass: c.StorageClass,
	}, nil
}

// newClient makes the library's with an HTTP client that ends what has gone silent.
func newClient(ctx context.Context, patience time.Duration, opts []option.ClientOption, api string) (*storage.Client, error) {
	// The scopes are the library's own.
	scopes := option.WithScopes(storage.ScopeFullControl, "https://www.googleapis.com/auth/cloud-platform")
	httpClient, _, err := htransport.NewClient(ctx, append(opts, scopes)...)
	if err != nil {
		return nil, err
	}
	transport := stall.Transport{Send: httpClient.Transport.RoundTrip}
	if patience > 0 {
		transport.Limit = func(*http.Request) time.Duration { return patience }
	}
	httpClient.Transport = transport
	// Reads go the same way as everything else: by default they would use another
	// protocol (XML) on another path, which emulators serve less well.
	final := []option.ClientOption{option.WithHTTPClient(httpClient), option.WithoutAuthentication(), storage.WithJSONReads()}
	if api != "" {
		final = append(final, option.WithEndpoint(api))
	}
	return storage.NewClient(ctx, final...)
}

// options are those of who asks. api is the URL of the JSON API, empty for Google's, and shown is what errors tell.
func (c Config) options() (opts []option.ClientOption, api, shown string, err error) {
	if len(c.CredentialsJSON) > 0 && c.AccessToken != "" {
		return nil, "", "", errors.New("both a credentials file and an access token are given: give one")
	}
	nobody := []option.ClientOption{option.WithoutAuthentication()}
	if c.Endpoint != "" {
		api, err = apiURL(c.Endpoint)
		return nobody, api, c.Endpoint, err
	}
	if host := os.Getenv("STORAGE_EMULATOR_HOST"); host != "" {
		return nobody, "", host, nil // the library knows it
	}
	const google = "storage.googleapis.com"
	switch {
	case len(c.CredentialsJSON) > 0:
		kind, err := credentialsType(c.CredentialsJSON)
		return []option.ClientOption{option.WithAuthCredentialsJSON(kind, c.CredentialsJSON)}, "", google, err
	case c.AccessToken != "":
		token := &oauth2.Token{AccessToken: strings.TrimSpace(c.AccessToken)}
		return []option.ClientOption{option.WithTokenSource(oauth2.StaticTokenSource(token))}, "", google, nil
	}
	return nil, "", google, nil
}

// apiURL makes the URL of the JSON API of that of its server.
func apiURL(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return "", errors.New("endpoint is no URL: write it as http://host:port")
	case u.User != nil:
		return "", errors.New("endpoint holds a user or password: they belong into the Secret")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("endpoint %q: write it as http://host:port", endpoint)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/storage/v1/"
	}
	return u.String(), nil
}

// credentialsType takes the two kinds that hold a key. The others name programs
// to run, files to read or addresses to call, which a Secret must not make an
// operator do.
func credentialsType(file []byte) (option.CredentialsType, error) {
	var head struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(file, &head) != nil {
		return "", errors.New("credentials.json is no JSON")
	}
	switch kind := option.CredentialsType(head.Type); kind {
	case option.ServiceAccount, option.AuthorizedUser:
		return kind, nil
	}
	return "", fmt.Errorf("credentials.json is of type %q: only service_account and authorized_user are taken; for a workload identity name no Secret", head.Type)
}

// Put uploads body in chunks of one resumable upload.
func (s *Store) Put(ctx context.Context, key string, body io.Reader) error {
	return s.wrap(ctx, "put", key, s.put(ctx, key, body))
}

func (s *Store) put(ctx context.Context, key string, body io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	// An upload does not heed the client's number of attempts: count them here, anew
	// after each chunk that arrived.
	var failures, allowed atomic.Int32
	allowed.Store(attempts)
	retry := storage.WithErrorFunc(func(err error) bool {
		return storage.ShouldRetry(err) && failures.Add(1) < allowed.Load()
	})
	w := s.client.Bucket(s.bucket).Object(key).Retryer(retry).If(storage.Conditions{DoesNotExist: true}).NewWriter(ctx)
	w.ProgressFunc = func(int64) {
		failures.Store(0)
		allowed.Store(chunkAttempts)
	}
	w.ChunkSize, w.ChunkRetryDeadline = chunkSize, chunkDeadline
	w.ContentType = "application/octet-stream"
	w.KMSKeyName, w.StorageClass = s.kmsKeyName, s.storageClass
	source := &source{ctx: ctx, body: body, sum: crc32.New(crc32.MakeTable(crc32.Castagnoli))}
	_, err := io.Copy(w, source)
	if err == nil {
		if err = w.Close(); err != nil {
			return err
		}
		return s.check(ctx, w.Attrs(), source)
	}
	// Close would commit what was written so far: end the upload first.
	cancel()
	closeErr := w.Close()
	if source.err != nil {
		return source.err
	}
	return errors.Join(err, closeErr)
}

// check compares what the store has with what it was sent, and removes it where that differs.
func (s *Store) check(ctx context.Context, has *storage.ObjectAttrs, sent *source) error {
	if has.Size == sent.size && has.CRC32C == sent.sum.Sum32() {
		return nil
	}
	err := fmt.Errorf("the store keeps %d bytes with CRC32C %08x, and was sent %d with %08x", has.Size, has.CRC32C, sent.size, sent.sum.Sum32())
	object := s.client.Bucket(s.bucket).Object(has.Name).If(storage.Conditions{GenerationMatch: has.Generation})
	return errors.Join(err, object.Delete(ctx))
}

// source remembers that it was the body that failed and not the upload, and what it yielded.
type source struct {
	ctx  context.Context
	body io.Reader
	size int64
	sum  hash.Hash32
	err  error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	// The last bytes must not be sent after the context has ended.
	if ctxErr := s.ctx.Err(); ctxErr != nil {
		n, err = 0, ctxErr
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	s.size += int64(n)
	_, _ = s.sum.Write(p[:n])
	return n, err
}

// Get opens key.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	body, err := s.client.Bucket(s.bucket).Object(key).NewReader(ctx)
	if err != nil {
		return nil, s.wrap(ctx, "get", key, err)
	}
	return body, nil
}

// List yields the objects whose key begins with prefix.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		query := &storage.Query{Prefix: prefix}
		if err := query.SetAttrSelection([]string{"Name", "Size", "Updated"}); err != nil {
			yield(objstore.Object{}, s.wrap(ctx, "list", prefix, err))
			return
		}
		objects := s.client.Bucket(s.bucket).Objects(ctx, query)
		for {
			attrs, err := objects.Next()
			if errors.Is(err, iterator.Done) {
				return
			}
			if err != nil {
				yield(objstore.Object{}, s.wrap(ctx, "list", prefix, err))
				return
			}
			if !yield(objstore.Object{Key: attrs.Name, Size: attrs.Size, ModTime: attrs.Updated}, nil) {
				return
			}
		}
	}
}

// Delete removes key.
func (s *Store) Delete(ctx context.Context, key string) error {
	// Deleting twice is no harm, so it may be tried again.
	object := s.client.Bucket(s.bucket).Object(key).Retryer(storage.WithPolicy(storage.RetryAlways))
	err := object.Delete(ctx)
	if errors.Is(err, storage.ErrObjectNotExist) && !s.bucketMissing(ctx) {
		return nil
	}
	return s.wrap(ctx, "delete", key, err)
}

// bucketMissing tells an absent bucket from an absent object, for which GCS has
// one answer. Listing is the one question that needs no right on the bucket's own
// settings.
func (s *Store) bucketMissing(ctx context.Context) bool {
	objects := s.client.Bucket(s.bucket).Objects(ctx, &storage.Query{Prefix: "\U0010ffff"})
	_, err := objects.Next()
	return errors.Is(err, storage.ErrBucketNotExist)
}
