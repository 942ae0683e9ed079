package keys

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

func (r *run) put(saved dbfile.Entry, modRevision int64) error {
	if !r.Write {
		return nil
	}
	value, err := r.entries.Value(saved)
	if err != nil {
		return err
	}
	return r.change(etcd.Change{Key: saved.Key, Value: value, ModRevision: modRevision})
}

// change collects changes for one transaction.
func (r *run) change(c etcd.Change) error {
	if !r.Write {
		return nil
	}
	size := len(c.Key) + len(c.Value)
	if len(r.changes) == maxChanges || len(r.changes) > 0 && r.bytes+size > maxBytes {
		if err := r.flush(); err != nil {
			return err
		}
	}
	r.changes, r.bytes = append(r.changes, c), r.bytes+size
	return nil
}

// flush writes the collected changes. If a client has just written one of the keys, it writes each of the others alone.
func (r *run) flush() error {
	changes := r.changes
	r.changes, r.bytes = nil, 0
	if len(changes) == 0 {
		return nil
	}
	applied, err := r.write(changes...)
	tooLarge := errors.Is(err, etcd.ErrTooLarge)
	if err != nil && !tooLarge || applied {
		return err
	}
	for _, change := range changes {
		if len(changes) > 1 {
			if applied, err = r.write(change); err != nil && !errors.Is(err, etcd.ErrTooLarge) {
				return err
			}
		}
		switch {
		case err != nil: // the others are written first
			r.refused = cmp.Or(r.refused, fmt.Errorf("key %s with its value has %d bytes, and the cluster accepts no request of that size: raise spec.etcd.maxRequestBytes of the EtcdCluster: %w",
				quoted(change.Key), len(change.Key)+len(change.Value), err))
		case !applied:
			r.conflict(change.Key)
		}
	}
	return nil
}

// write carries out all changes, or none and returns false.
func (r *run) write(changes ...etcd.Change) (applied bool, err error) {
	size := 0
	for _, c := range changes {
		size += len(c.Key) + len(c.Value)
	}
	leave, err := r.turn(size > etcd.SmallPage)
	if err != nil {
		return false, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(r.ctx, callTimeout)
	defer cancel()
	return r.cluster.ApplyIfUnchanged(ctx, changes...)
}
