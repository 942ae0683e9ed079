package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// completeBatch is how many objects one run reads to complete them: the newest ones.
const completeBatch = 4

// Drafted is an object without a manifest, and its draft.
type Drafted struct {
	Key, Draft string
	Size       int64
}

// Complete writes the manifest that the draft has, if an attempt that begins with mark has written the object: the store has refused the manifest, or
// the operator was killed before it. The snapshot was verified before its draft was written, and Complete reads the object to see that it is the
// same. done is false if the object is another one, or of another EtcdBackup. The manifest is that of the draft if the EtcdBackup has written that.
func Complete(ctx context.Context, d Drafted, store objstore.Store, mark string, by Signers) (m Manifest, done bool, err error) {
	m, err = readManifestAt(ctx, store, d.Key, d.Draft, by)
	switch {
	case err != nil && noDraft(err):
		return Manifest{}, false, nil
	case err != nil:
		return Manifest{}, false, fmt.Errorf("complete the snapshot %s: %w", d.Key, err)
	case mark == "" || m.writer() != mark || m.Size != d.Size || !Agrees(d.Key, m):
		return Manifest{}, false, nil
	}
	if err := matches(ctx, store, d.Key, m); errors.Is(err, dbfile.ErrCorrupt) || errors.Is(err, fs.ErrNotExist) {
		return m, false, nil
	} else if err != nil {
		return m, false, fmt.Errorf("complete the snapshot %s: %w", d.Key, err)
	}
	if _, err := (Request{Store: store, Key: d.Key, Signers: by}).commit(ctx, Saved{Manifest: m}); err != nil {
		return m, false, fmt.Errorf("complete the snapshot %s: %w", d.Key, err)
	}
	_ = store.Delete(ctx, d.Draft) // otherwise a later run deletes it
	return m, true, nil
}

// matches reads an object. The error is dbfile.ErrCorrupt if it is not the one of the manifest.
func matches(ctx context.Context, store objstore.Getter, key string, m Manifest) error {
	body, err := store.Get(ctx, key)
	if err != nil {
		return err
	}
	defer body.Close()
	return drain(&checkedBody{body: body, sum: sha256.New(), manifest: m})
}

// CompleteNewest completes the newest unfinished objects of a series, and adds them to the index and to known. open are those of the EtcdBackup that could
// not be completed because of an error.
func CompleteNewest(ctx context.Context, x *Index, store objstore.Store, series Series, known Known, mark string, by Signers) (open Known, err error) {
	open = Known{}
	var errs objstore.Errors
	tried := 0
	for _, item := range x.Unfinished() {
		for _, draft := range x.draftsOf(item.Key) {
			if item.Series != series || tried == completeBatch {
				continue
			}
			m, done, err := Complete(ctx, Drafted{item.Key, draft, item.Size}, store, mark, by)
			switch {
			case err != nil && m.Size > 0:
				open[item.Key] = Reading{Manifest: m}
			case done:
				x.commit(item)
				known[item.Key] = Reading{Manifest: m}
			}
			if m.Size > 0 {
				tried++ // it was read
			}
			if !errs.Add(ctx, err) {
				return open, errs.Err()
			}
		}
	}
	return open, errs.Err()
}

// checkedBody returns io.EOF only if it has read the bytes that the manifest describes.
type checkedBody struct {
	body     io.Reader
	sum      hash.Hash
	manifest Manifest
	size     int64
	progress func(int64) // may be nil
	err      error
}

// SizeHint lets a store choose its part size.
func (c *checkedBody) SizeHint() int64 { return c.manifest.Size }

func (c *checkedBody) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.body.Read(p)
	c.sum.Write(p[:n])
	if c.size += int64(n); c.progress != nil {
		c.progress(c.size)
	}
	switch {
	case c.size > c.manifest.Size, errors.Is(err, io.EOF) && hex.EncodeToString(c.sum.Sum(nil)) != c.manifest.SHA256:
		err = fmt.Errorf("the object differs from its manifest: %w", dbfile.ErrCorrupt)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}
