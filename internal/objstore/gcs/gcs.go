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
	"io"
	"iter"
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

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// chunkSize is what one Put buffers, to send it again where that is needed.
const chunkSize = 8 << 20

// attempts of one request, the first included.
const attempts = 6

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
	opts, endpoint, err := c.options()
	if err != nil {
		return nil, fmt.Errorf("open GCS bucket %s: %w", c.Bucket, err)
	}
	// The client outlives this call, and so must its context: it carries tokens.
	client, err := storage.NewClient(context.WithoutCancel(ctx), opts...)
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

func (c Config) options() ([]option.ClientOption, string, error) {
	if len(c.CredentialsJSON) > 0 && c.AccessToken != "" {
		return nil, "", errors.New("both a credentials file and an access token are given: give one")
	}
	// Reads go the same way as everything else: by default they would use another
	// protocol (XML) on another path, which emulators serve less well.
	opts := []option.ClientOption{storage.WithJSONReads()}
	if c.Endpoint != "" {
		endpoint, err := apiURL(c.Endpoint)
		return append(opts, option.WithEndpoint(endpoint), option.WithoutAuthentication()), c.Endpoint, err
	}
	if host := os.Getenv("STORAGE_EMULATOR_HOST"); host != "" {
		return opts, host, nil
	}
	const google = "storage.googleapis.com"
	switch {
	case len(c.CredentialsJSON) > 0:
		kind, err := credentialsType(c.CredentialsJSON)
		return append(opts, option.WithAuthCredentialsJSON(kind, c.CredentialsJSON)), google, err
	case c.AccessToken != "":
		token := &oauth2.Token{AccessToken: strings.TrimSpace(c.AccessToken)}
		return append(opts, option.WithTokenSource(oauth2.StaticTokenSource(token))), google, nil
	}
	return opts, google, nil
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
	var failures atomic.Int32
	retry := storage.WithErrorFunc(func(err error) bool {
		return storage.ShouldRetry(err) && failures.Add(1) < attempts
	})
	w := s.client.Bucket(s.bucket).Object(key).Retryer(retry).If(storage.Conditions{DoesNotExist: true}).NewWriter(ctx)
	w.ProgressFunc = func(int64) { failures.Store(0) }
	w.ChunkSize = chunkSize
	w.ContentType = "application/octet-stream"
	w.KMSKeyName, w.StorageClass = s.kmsKeyName, s.storageClass
	source := &source{ctx: ctx, body: body}
	_, err := io.Copy(w, source)
	if err == nil {
		return w.Close()
	}
	// Close would commit what was written so far: end the upload first.
	cancel()
	closeErr := w.Close()
	if source.err != nil {
		return source.err
	}
	return errors.Join(err, closeErr)
}

// source remembers that it was the body that failed and not the upload.
type source struct {
	ctx  context.Context
	body io.Reader
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
