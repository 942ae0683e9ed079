// Package objstore keeps immutable objects under flat keys in a bucket: four
// methods, an error contract, and nothing of any vendor. The packages s3, gcs,
// abs and file implement it, and objstoretest is the contract as a test suite.
package objstore

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// ErrNoBucket says that the bucket itself does not exist, which is a mistake in
// the configuration and no statement about any key: such an error is not
// fs.ErrNotExist.
var ErrNoBucket = errors.New("bucket does not exist")

// Store keeps objects in one bucket. It is safe for concurrent use.
//
// Errors name the operation, the key, and the bucket, never a credential.
// errors.Is finds fs.ErrNotExist, fs.ErrExist, fs.ErrPermission and ErrNoBucket
// in them; any other error may pass if tried again.
type Store interface {
	// Put creates key from body, all or nothing, and never replaces: fs.ErrExist
	// if key exists, whose bytes stay. body is read once, to io.EOF, by one
	// goroutine at a time, with constant memory. If body fails or ctx ends, key does not
	// exist afterwards unless it did before. One doubt no store can remove: where
	// the answer to the very last request is lost, Put fails although the whole
	// object is there, and a second Put finds fs.ErrExist.
	Put(ctx context.Context, key string, body io.Reader) error

	// Get opens key; fs.ErrNotExist if it is absent. The caller closes. ctx spans
	// the reading too.
	Get(ctx context.Context, key string) (io.ReadCloser, error)

	// List yields every object whose key begins with prefix, in byte order of the
	// keys, however many pages that takes, until an error or a break. A prefix is
	// a string and not a directory: "a" also finds "ab".
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]

	// Delete removes key. An absent key is no error.
	Delete(ctx context.Context, key string) error
}

// Object is what List says about a key.
type Object struct {
	Key     string
	Size    int64     // bytes
	ModTime time.Time // when the store took it in, by the store's clock
}

// Sized is a body that knows roughly how many bytes it will yield. A store may
// choose its part size by that; a wrong hint costs memory or time, never bytes.
type Sized interface {
	SizeHint() int64
}

// Rereader is a body that keeps what it has yielded, for example in a file. A store
// that sends in parts, and sends a part again where that is needed, then holds none
// of them in memory.
type Rereader interface {
	// Reread returns what Read has yielded so far, at offsets from the first byte. It
	// is good until Put returns, also for several goroutines at once and while Read
	// goes on.
	Reread() io.ReaderAt
	// Size is how many bytes Read will yield in all; 0 is unknown. Where it turns out to be wrong, that costs time and
	// never bytes.
	Size() int64
}

// Upload is what Put has begun and not completed: parts that cost and are no object.
type Upload struct {
	Key     string
	ID      string    // opaque
	Started time.Time // by the store's clock
}

// Unfinished is a Store in whose bucket a killed process leaves the parts of its
// uploads for ever. A Store that is not one of these forgets them by itself.
type Unfinished interface {
	// Uploads yields those of keys that begin with prefix, those of Puts that are
	// still going on included.
	Uploads(ctx context.Context, prefix string) iter.Seq2[Upload, error]
	// Abort removes the parts of one. One that is gone is no error.
	Abort(ctx context.Context, upload Upload) error
}

// Mark makes err also answer errors.Is for kind, one of fs.ErrNotExist,
// fs.ErrExist, fs.ErrPermission and ErrNoBucket, and leaves its text alone.
func Mark(err, kind error) error { return &marked{err: err, kind: kind} }

type marked struct{ err, kind error }

func (m *marked) Error() string   { return m.err.Error() }
func (m *marked) Unwrap() []error { return []error{m.err, m.kind} }
