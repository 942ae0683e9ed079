package standby

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"go.etcd.io/bbolt"

	"github.com/etcd-suite/etcd-operator/internal/archive"
)

// Delivered is what Finish has made.
type Delivered struct {
	Timeline archive.Timeline `json:"timeline"`
	Revision int64            `json:"revision"`
	At       time.Time        `json:"at"`
	// Leases that the keys have, and that the archive or the base knows. Fallback are those whose TTL is not known. They got Options.FallbackTTL.
	Leases   int `json:"leases"`
	Fallback int `json:"fallback"`
}

// Finish ends the following. It makes a snapshot file at path, which must be on the same volume, with all that is in the database. A link that was applied in part is
// completed from the disk. If that is not possible, the result ends with the last whole revision. If Finish is interrupted, the next Finish of the directory continues. It does not need the store. If the caller has moved the
// file since, Finish returns the same result again.
func Finish(ctx context.Context, o Options, path string) (result Delivered, err error) {
	defer guard(&err)()
	o = o.withDefaults()
	if content, err := os.ReadFile(o.path(deliveredName)); err == nil {
		if err := json.Unmarshal(content, &result); err != nil {
			return result, err
		}
		return result, deliver(o, path)
	}
	db, err := openDatabase(o.path(DatabaseName), o)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = ErrNoBase
		}
		return result, err
	}
	if result, err = settle(ctx, o, db); err != nil {
		return result, errors.Join(err, db.close())
	}
	if err := db.close(); err != nil {
		return result, err
	}
	content, err := json.Marshal(result)
	if err == nil {
		err = writeDelivered(o, content)
	}
	if err != nil {
		return result, err
	}
	return result, deliver(o, path)
}

// settle completes what is on the disk, and writes the leases.
func settle(ctx context.Context, o Options, d *database) (Delivered, error) {
	if err := d.resume(ctx); err != nil {
		return Delivered{}, err
	}
	link := nextLink{o, d.position}
	if _, err := os.Stat(link.file()); err == nil {
		err := link.verify(ctx, fileGetter(link.file()), nil)
		if err == nil {
			err = link.applyTo(ctx, d)
		}
		if ctx.Err() != nil {
			return Delivered{}, err // otherwise the link is of no use, and the database ends before it
		}
	}
	if err := d.undo(); err != nil {
		return Delivered{}, err
	}
	p := d.position
	known, unknown, err := d.writeLeases(ctx, o.FallbackTTL)
	return Delivered{Timeline: p.Chain.Timeline, Revision: p.Revision, At: p.At, Leases: known, Fallback: unknown}, err
}

// writeDelivered stores the result. From then on, the database is not followed any more.
func writeDelivered(o Options, content []byte) error {
	part := o.path(partName)
	if err := os.WriteFile(part, content, 0o600); err != nil {
		return err
	}
	if err := syncFile(part); err != nil {
		return err
	}
	if err := os.Rename(part, o.path(deliveredName)); err != nil {
		return err
	}
	err := syncDir(o.Dir)
	o.durable()
	return err
}

// deliver removes the buckets of the follower, appends the SHA-256 of the database as etcd does, and moves it to path. It does nothing if it has moved it before.
func deliver(o Options, path string) error {
	from := o.path(DatabaseName)
	info, err := os.Stat(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if rest := info.Size() % sector; rest > 0 {
		if err := os.Truncate(from, info.Size()-rest); err != nil {
			return err
		}
	}
	bolt, err := bbolt.Open(from, 0o600, boltOptions())
	if err != nil {
		return err
	}
	if err := errors.Join(bolt.Update(dropBuckets), bolt.Close()); err != nil {
		return err
	}
	o.durable()
	if !o.Unsealed {
		if err := appendTrailer(from); err != nil {
			return err
		}
		o.durable()
	}
	if err := os.Rename(from, path); err != nil {
		return err
	}
	o.durable()
	return errors.Join(syncDir(o.Dir), removeLinks(o.Dir, ""))
}

func dropBuckets(tx *bbolt.Tx) error {
	for _, name := range [][]byte{bucketIndex, bucketReplaced, bucketTTL, bucketAttached, bucketPosition} {
		if tx.Bucket(name) == nil {
			continue
		}
		if err := tx.DeleteBucket(name); err != nil {
			return err
		}
	}
	return nil
}
