package save

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
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
)

// Matches reads an object. The error is dbfile.ErrCorrupt if it is not the one of the manifest.
func Matches(ctx context.Context, store objstore.Getter, key string, m snapshot.Manifest) error {
	body, err := store.Get(ctx, key)
	if err != nil {
		return err
	}
	defer body.Close()
	return proof.Drain(&CheckedBody{Body: body, Sum: sha256.New(), Manifest: m})
}

// CheckedBody returns io.EOF only if it has read the bytes that the manifest describes.
type CheckedBody struct {
	Body     io.Reader
	Sum      hash.Hash
	Manifest snapshot.Manifest
	size     int64
	Progress func(int64) // may be nil
	Err      error
}

// SizeHint lets a store choose its part size.
func (c *CheckedBody) SizeHint() int64 { return c.Manifest.Size }

func (c *CheckedBody) Read(p []byte) (int, error) {
	if c.Err != nil {
		return 0, c.Err
	}
	n, err := c.Body.Read(p)
	c.Sum.Write(p[:n])
	if c.size += int64(n); c.Progress != nil {
		c.Progress(c.size)
	}
	switch {
	case c.size > c.Manifest.Size, errors.Is(err, io.EOF) && hex.EncodeToString(c.Sum.Sum(nil)) != c.Manifest.SHA256:
		err = fmt.Errorf("the object differs from its manifest: %w", dbfile.ErrCorrupt)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.Err = err
	}
	return n, err
}
