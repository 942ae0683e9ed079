package proof

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Hashed is a reader that computes the size and SHA-256 of what was read.
type Hashed struct {
	io.Reader
	Size int64
	sum  hash.Hash // nil if the caller computes the SHA-256 elsewhere
	// most returns how many bytes may be read; may be nil
	most func() int64
}

// NewHashed returns a reader of r that counts and hashes what is read.
func NewHashed(r io.Reader) *Hashed { return &Hashed{Reader: r, sum: sha256.New()} }

func (m *Hashed) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if m.sum != nil {
		m.sum.Write(p[:n])
	}
	m.Size += int64(n)
	if m.most != nil && m.Size > m.most() {
		return n, &bodyError{fmt.Errorf("the object has more than %d bytes, for too little content or more than its store lists: %w", m.most(), dbfile.ErrCorrupt)}
	}
	return n, err
}

// SHA256 returns the SHA-256 in hex digits.
func (m *Hashed) SHA256() string { return hex.EncodeToString(m.sum.Sum(nil)) }

type bodyError struct{ err error }

// storeBody marks read errors as errors of the store. Without the mark, a proof would report them as ErrSource.
type storeBody struct{ io.Reader }

func (b storeBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = &bodyError{err}
	}
	return n, err
}

func (e *bodyError) Error() string { return "read object: " + e.err.Error() }

func (e *bodyError) Unwrap() error { return e.err }

// storeError returns the marked error in the chain if there is one.
func storeError(err error) error {
	var body *bodyError
	if errors.As(err, &body) {
		return body
	}
	return err
}

// counting reports how many bytes of one object were read.
type counting struct {
	objstore.Store
	key      string
	progress func(int64)
}

func (c counting) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	body, err := c.Store.Get(ctx, key)
	if err != nil || key != c.key || c.progress == nil {
		return body, err
	}
	return &countingBody{ReadCloser: body, progress: c.progress}, nil
}

type countingBody struct {
	io.ReadCloser
	read     int64
	progress func(int64)
}

func (b *countingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	b.progress(b.read)
	return n, err
}
