package connect

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// allows returns a function that returns an error if the Scope does not allow an object, or the prefix of a listing. An open store keeps the
// function, so the function does not keep the Secret. Directories of tests have no identity.
func (a Access) allows() func(key string) error {
	if a.Provider == File {
		return func(string) error { return nil }
	}
	scope, own, bucket := a.For, Ambient(a.Data), a.Bucket
	return func(key string) error { return scope.Check(own, bucket, key) }
}

// folder returns the prefix of what is below a key.
func folder(key string) string {
	if key == "" || strings.HasSuffix(key, "/") {
		return key
	}
	return key + "/"
}

// gate returns a store that asks allows before each request, so that no object is read, listed, written, deleted or signed that the Scope does
// not allow, whatever a caller computes from a spec, a status or a listing. It also has the optional functions of the store.
func gate(store objstore.Store, allows func(key string) error) objstore.Store {
	g := gated{store, allows}
	unfinished, uploads := store.(objstore.Unfinished)
	signer, signs := store.(objstore.Signer)
	switch u, s := (gatedUploads{unfinished, allows}), (gatedSigner{signer, allows}); {
	case uploads && signs:
		return struct {
			gated
			gatedUploads
			gatedSigner
		}{g, u, s}
	case uploads:
		return struct {
			gated
			gatedUploads
		}{g, u}
	case signs:
		return struct {
			gated
			gatedSigner
		}{g, s}
	}
	return g
}

// gated has each function of objstore.Store itself, so that a new one is not passed on without a check.
type gated struct {
	store  objstore.Store
	allows func(string) error
}

// Put is that of objstore.Store, like the other methods.
func (g gated) Put(ctx context.Context, key string, body io.Reader) error {
	if err := g.allows(key); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	return g.store.Put(ctx, key, body)
}

func (g gated) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := g.allows(key); err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	return g.store.Get(ctx, key)
}

func (g gated) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	if err := g.allows(prefix); err != nil {
		return refused[objstore.Object](err)
	}
	return g.store.List(ctx, prefix)
}

func (g gated) Delete(ctx context.Context, key string) error {
	if err := g.allows(key); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return g.store.Delete(ctx, key)
}

type gatedUploads struct {
	unfinished objstore.Unfinished
	allows     func(string) error
}

func (g gatedUploads) Uploads(ctx context.Context, prefix string) iter.Seq2[objstore.Upload, error] {
	if err := g.allows(prefix); err != nil {
		return refused[objstore.Upload](err)
	}
	return g.unfinished.Uploads(ctx, prefix)
}

func (g gatedUploads) Abort(ctx context.Context, upload objstore.Upload) error {
	if err := g.allows(upload.Key); err != nil {
		return fmt.Errorf("abort the upload: %w", err)
	}
	return g.unfinished.Abort(ctx, upload)
}

type gatedSigner struct {
	signer objstore.Signer
	allows func(string) error
}

func (g gatedSigner) SignGet(ctx context.Context, key string, lifetime time.Duration) (objstore.SignedURL, error) {
	if err := g.allows(key); err != nil {
		return objstore.SignedURL{}, fmt.Errorf("sign a URL: %w", err)
	}
	return g.signer.SignGet(ctx, key, lifetime)
}

// refused is a listing that is not allowed.
func refused[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, fmt.Errorf("list: %w", err))
	}
}
