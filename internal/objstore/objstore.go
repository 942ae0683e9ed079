// Package objstore defines a store of immutable objects under flat keys in a bucket, and its error contract. It depends
// on no vendor. The packages s3, gcs, abs and file implement it, and objstoretest tests the contract.
package objstore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"time"
)

// ErrNoBucket means that the bucket itself does not exist, which is a mistake in the configuration. Such an error is never
// fs.ErrNotExist, which is about a key.
var ErrNoBucket = errors.New("bucket does not exist")

// Store stores objects in one bucket. It is safe for concurrent use.
//
// Errors name the operation, the key and the bucket, and never contain a credential. errors.Is finds fs.ErrNotExist,
// fs.ErrExist, fs.ErrPermission and ErrNoBucket in them. Any other error may be temporary.
type Store interface {
	// Put creates key from body, completely or not at all. It never replaces an object: the error is fs.ErrExist if key
	// exists. Put reads body once until io.EOF, by one goroutine at a time, with constant memory. If body fails or ctx
	// ends, Put does not create key. One case is undecidable: if the answer to the last request is lost, Put fails
	// although the complete object exists, and a second Put returns fs.ErrExist.
	Put(ctx context.Context, key string, body io.Reader) error

	// Get opens key for reading. The error is fs.ErrNotExist if the key does not exist. The caller closes the reader. ctx
	// must not end before the object is read.
	Get(ctx context.Context, key string) (io.ReadCloser, error)

	// List yields all objects whose key begins with prefix, in byte order of the keys. It stops after an error. A prefix
	// is a string and not a directory: "a" also matches "ab".
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]

	// Delete deletes key. It is not an error if the key does not exist.
	Delete(ctx context.Context, key string) error
}

// Object is what List reports about a key.
type Object struct {
	Key     string
	Size    int64     // bytes
	ModTime time.Time // when the object was created, by the store's clock
	// Cold means that the object is in a storage class from which it must be restored before it can be read. A copy that was restored for some
	// days does not count: only Get knows it.
	Cold bool
}

// Sized is a body that can estimate its size in bytes. A store may choose its part size by the hint. Others may state the
// size, for example in a manifest, so a wrong hint must cost only some MiB of memory, or time.
type Sized interface {
	SizeHint() int64
}

// Rereader is a body that keeps the bytes that were read, for example in a file. A store that retries parts of an upload
// can then read them again and needs no buffers.
type Rereader interface {
	// Reread returns a reader of the bytes that Read has returned so far, with offsets from the first byte. It is valid
	// until Put returns, and safe for concurrent use, also with Read.
	Reread() io.ReaderAt
	// Size is the total number of bytes that Read will return; 0 if unknown. A wrong size only costs time.
	Size() int64
}

// Name returns the key.
func (o Object) Name() string { return o.Key }

// Metadata is a small body that describes another object. A Store writes it in the bucket's default storage class, so
// that it can be read at once although the other object is in an archive.
type Metadata struct{ *bytes.Reader }

// NewMetadata returns the body of a small object that describes another one.
func NewMetadata(content []byte) Metadata { return Metadata{bytes.NewReader(content)} }

// Upload is an unfinished upload of Put: parts that use space but are not an object.
type Upload struct {
	Key     string
	ID      string    // opaque
	Started time.Time // by the store's clock
}

// Unfinished is a Store that keeps the parts of unfinished uploads until a client deletes them. Other stores delete them
// on their own.
type Unfinished interface {
	// Uploads yields the unfinished uploads of keys that begin with prefix, including those in progress.
	Uploads(ctx context.Context, prefix string) iter.Seq2[Upload, error]
	// Abort deletes the parts of an upload. It is not an error if the upload does not exist.
	Abort(ctx context.Context, upload Upload) error
}

// Getter opens objects, as Store.Get does.
type Getter interface {
	Get(ctx context.Context, key string) (io.ReadCloser, error)
}

// SignedURL permits its holder to read one object, without any other credentials. It is a secret.
type SignedURL struct {
	URL string
	// Header holds the headers that the request must have, for example those of SSE-C. It may be nil.
	Header http.Header
	// Expires is when the store refuses new requests.
	Expires time.Time
}

// Signer is a Store that can sign such URLs.
type Signer interface {
	// SignGet signs a URL to read key. It expires after lifetime, or sooner if the identity that signs it does.
	SignGet(ctx context.Context, key string, lifetime time.Duration) (SignedURL, error)
}

// Mark returns err with the same text, for which errors.Is(err, kind) is true. kind is one of fs.ErrNotExist, fs.ErrExist,
// fs.ErrPermission and ErrNoBucket.
func Mark(err, kind error) error { return &marked{err: err, kind: kind} }

type marked struct{ err, kind error }

func (m *marked) Error() string   { return m.err.Error() }
func (m *marked) Unwrap() []error { return []error{m.err, m.kind} }
