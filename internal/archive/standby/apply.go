package standby

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/storage/schema"

	"github.com/etcd-suite/etcd-operator/internal/archive"
)

// application applies one link.
type application struct {
	d     *database
	at    position // what the open batch will have stored
	batch *batch   // nil between two
	// revision and events count what was read of the link.
	revision, events int64
}

// apply applies a link that was verified, and makes its end the position. If it is interrupted, the next call continues.
func (d *database) apply(ctx context.Context, r *archive.Reader) error {
	a := &application{d: d, at: d.position}
	defer func() { a.batch.rollback() }()
	for {
		event, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = a.event(event)
		}
		if err != nil {
			return err
		}
	}
	if err := a.commit(); err != nil {
		return err
	}
	return a.end(r)
}

// event applies one event, unless the database has it.
func (a *application) event(event *mvccpb.Event) error {
	revision := event.Kv.ModRevision
	if revision != a.revision {
		a.revision, a.events = revision, 0
	}
	sub := a.events
	a.events++
	switch {
	case revision < a.at.Revision, revision == a.at.Revision && sub < a.at.Events:
		return nil // the base, or the same process before a crash, has it
	case revision == a.at.Revision && sub == a.at.Events:
	case revision == a.at.Revision+1 && sub == 0:
	default:
		return &archive.RevisionError{Revision: a.at.Revision + 1, Err: fmt.Errorf("%w: event %d of revision %d follows revision %d", archive.ErrCorrupt, sub+1, revision, a.at.Revision)}
	}
	if a.batch.full() {
		if err := a.commit(); err != nil {
			return err
		}
	}
	if a.batch == nil {
		var err error
		if a.batch, err = newBatch(a.d.bolt); err != nil {
			return err
		}
	}
	if err := a.batch.apply(event, sub); err != nil {
		return err
	}
	a.at.Revision, a.at.Events = revision, a.events
	a.at.Leased = a.at.Leased || event.Kv.Lease != 0
	return nil
}

// commit stores the position with the events before it, in one transaction.
func (a *application) commit() error {
	if a.batch == nil {
		return nil
	}
	if err := store(a.batch.tx, a.at); err != nil {
		return err
	}
	if err := a.batch.tx.Commit(); err != nil {
		return err
	}
	a.batch, a.d.position = nil, a.at
	a.d.durable()
	return nil
}

// end stores the leases of a link, and then its end as the position. In the same transaction, it schedules the compaction to which the source was compacted.
func (a *application) end(r *archive.Reader) error {
	for leases := r.Leases; len(leases) > 0; {
		n := min(len(leases), batchChanges)
		if err := a.d.putTTLs(leases[:n]); err != nil {
			return err
		}
		leases = leases[n:]
	}
	if r.Header.Last != a.at.Revision {
		return &archive.RevisionError{Revision: a.at.Revision + 1, Err: fmt.Errorf("%w: the link ends with revision %d, but its events with %d", archive.ErrCorrupt, r.Header.Last, a.at.Revision)}
	}
	a.at.Chain, a.at.Next, a.at.At, a.at.Events = r.Header.Chain(), "", r.Header.To().At, allEvents
	return a.d.move(a.at, r.Header.CompactRevision)
}

// pass makes the end of a link the position whose events the base has.
func (d *database) pass(h archive.Header) error {
	to := d.position
	to.Chain, to.Next = h.Chain(), ""
	return d.move(to, 0)
}

// move stores a position without events, and schedules the compaction to a revision; 0 for none.
func (d *database) move(to position, compactRevision int64) error {
	err := d.update(func(tx *bbolt.Tx) error {
		if compactRevision > compacted(tx) && compactRevision <= to.whole() {
			if err := putRevision(tx, schema.ScheduledCompactKeyName, compactRevision); err != nil {
				return err
			}
		}
		return store(tx, to)
	})
	if err == nil {
		d.position = to
	}
	return err
}

func (d *database) putTTLs(leases []archive.Lease) error {
	return d.update(func(tx *bbolt.Tx) error {
		ttls := tx.Bucket(bucketTTL)
		for _, l := range leases {
			if err := ttls.Put(leaseKey(l.ID), binary.BigEndian.AppendUint64(nil, uint64(l.TTL))); err != nil {
				return err
			}
		}
		return nil
	})
}
