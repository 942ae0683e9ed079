package save

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// completeBatch is how many objects one run reads to complete them: the newest ones.
const completeBatch = 4

// Complete writes the manifest that the draft has, if an attempt that begins with mark has written the object: the store has refused the manifest, or
// the operator was killed before it. The snapshot was verified before its draft was written, and Complete reads the object to see that it is the
// same. done is false if the object is another one, or of another EtcdBackup. The manifest is that of the draft if the EtcdBackup has written that.
func Complete(ctx context.Context, d catalog.Drafted, store objstore.Store, mark string, by snapshot.Signers) (m snapshot.Manifest, done bool, err error) {
	m, err = snapshot.ReadManifestAt(ctx, store, d.Key, d.Draft, by)
	switch {
	case err != nil && snapshot.NoDraft(err):
		return snapshot.Manifest{}, false, nil
	case err != nil:
		return snapshot.Manifest{}, false, fmt.Errorf("complete the snapshot %s: %w", d.Key, err)
	case mark == "" || m.Writer() != mark || m.Size != d.Size || !snapshot.Agrees(d.Key, m):
		return snapshot.Manifest{}, false, nil
	}
	if err := Matches(ctx, store, d.Key, m); errors.Is(err, dbfile.ErrCorrupt) || errors.Is(err, fs.ErrNotExist) {
		return m, false, nil
	} else if err != nil {
		return m, false, fmt.Errorf("complete the snapshot %s: %w", d.Key, err)
	}
	if _, err := (Request{Store: store, Key: d.Key, Signers: by}).Commit(ctx, Saved{Manifest: m}); err != nil {
		return m, false, fmt.Errorf("complete the snapshot %s: %w", d.Key, err)
	}
	_ = store.Delete(ctx, d.Draft) // otherwise a later run deletes it
	return m, true, nil
}

// CompleteNewest completes the newest unfinished objects of a series, and adds them to the index and to known. open are those of the EtcdBackup that could
// not be completed because of an error.
func CompleteNewest(ctx context.Context, x *catalog.Index, store objstore.Store, series snapshot.Series, known catalog.Known, mark string, by snapshot.Signers) (open catalog.Known, err error) {
	open = catalog.Known{}
	var errs objstore.Errors
	tried := 0
	for _, item := range x.Unfinished() {
		for _, draft := range x.DraftsOf(item.Key) {
			if item.Series != series || tried == completeBatch {
				continue
			}
			m, done, err := Complete(ctx, catalog.Drafted{Key: item.Key, Draft: draft, Size: item.Size}, store, mark, by)
			switch {
			case err != nil && m.Size > 0:
				open[item.Key] = catalog.Reading{Manifest: m}
			case done:
				x.Commit(item)
				known[item.Key] = catalog.Reading{Manifest: m}
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
