// Package keys compares the keys of a snapshot below some prefixes with those of a running cluster, and writes those that differ. Each write has a
// guard: the key is as it was at the comparison, so no write of a client is overwritten.
package keys

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Run compares and, if asked, writes the keys. After an error, some keys may have been written: another run continues.
func Run(ctx context.Context, cluster Cluster, entries Snapshot, o Order) (Result, error) {
	r := run{Order: o, ctx: ctx, cluster: cluster, entries: entries, result: Result{Revision: o.Revision}, named: map[string]int{}}
	if err := r.advance(); err != nil {
		return Result{}, err
	}
	for _, prefix := range Disjoint(o.Prefixes) {
		if err := r.merge(prefix); err != nil {
			return Result{}, err
		}
	}
	if err := r.flush(); err != nil {
		return Result{}, err
	}
	return r.result, r.refused
}

// Disjoint returns the prefixes in order, without those that begin with another one.
func Disjoint(prefixes []string) []string {
	var kept []string
	for _, prefix := range slices.Sorted(slices.Values(prefixes)) {
		if len(kept) == 0 || !strings.HasPrefix(prefix, kept[len(kept)-1]) {
			kept = append(kept, prefix)
		}
	}
	return kept
}

// advance reads the next key of the snapshot.
func (r *run) advance() error {
	entry, err := r.entries.Next()
	if errors.Is(err, io.EOF) {
		r.next = nil
		return nil
	}
	r.next = &entry
	return err
}

// merge goes through the keys with one prefix in both, which are in the same order.
func (r *run) merge(prefix string) error {
	live := r.pages(prefix, r.Write)
	if r.was = nil; r.Write {
		r.was = r.pages(prefix, false)
	}
	for r.next != nil && string(r.next.Key) < prefix {
		if err := r.advance(); err != nil {
			return err
		}
	}
	for {
		present, err := live.peek()
		if err != nil {
			return err
		}
		saved := r.next
		if saved != nil && !bytes.HasPrefix(saved.Key, []byte(prefix)) {
			saved = nil // of a later prefix
		}
		switch order := compare(saved, present); {
		case saved == nil && present == nil:
			return nil
		case order < 0:
			err = r.onlySaved(*saved)
		case order > 0:
			err = r.onlyPresent(*present)
		default:
			err = r.both(*saved, *present)
		}
		if err != nil {
			return err
		}
		if compare(saved, present) <= 0 {
			if err := r.advance(); err != nil {
				return err
			}
		}
		if compare(saved, present) >= 0 {
			live.pop()
		}
	}
}

// compare orders two keys. A missing one comes after all others.
func compare(saved *dbfile.Entry, present *etcd.KeyValue) int {
	switch {
	case saved == nil && present == nil:
		return 0
	case saved == nil:
		return 1
	case present == nil:
		return -1
	}
	return bytes.Compare(saved.Key, present.Key)
}

func (r *run) onlySaved(saved dbfile.Entry) error {
	if saved.Leased {
		r.result.Leased++
		return nil
	}
	return r.unlessChanged(saved.Key, 0, func() error {
		r.count(&r.result.Created, "create", saved.Key)
		return r.put(saved, 0)
	})
}

func (r *run) onlyPresent(present etcd.KeyValue) error {
	switch {
	case !r.Prune && !present.Leased:
		r.result.Kept++
		return nil
	case !r.Prune:
		r.result.Leased++
		return nil
	case present.Leased:
		return r.leased(present)
	}
	return r.unlessChanged(present.Key, present.ModRevision, func() error {
		r.count(&r.result.Deleted, "delete", present.Key)
		return r.change(etcd.Change{Key: present.Key, Delete: true, ModRevision: present.ModRevision})
	})
}

func (r *run) both(saved dbfile.Entry, present etcd.KeyValue) error {
	switch {
	case saved.Leased:
		r.result.Leased++
		return nil
	case present.Leased:
		return r.leased(present)
	}
	value, same, err := r.valueBeside(saved, present)
	switch {
	case err != nil:
		return err
	case same: // also if an earlier attempt has written it
		r.result.Unchanged++
		return nil
	}
	return r.unlessChanged(saved.Key, present.ModRevision, func() error {
		r.count(&r.result.Changed, "change", saved.Key)
		return r.change(etcd.Change{Key: saved.Key, Value: value, ModRevision: present.ModRevision})
	})
}

// leased leaves a key of the cluster, because a write would take it from its lease.
func (r *run) leased(present etcd.KeyValue) error {
	return r.unlessChanged(present.Key, present.ModRevision, func() error {
		r.result.Leased++
		return nil
	})
}

// valueBeside returns the value of the snapshot, and whether it equals the present one. A comparison reads no value of another length.
func (r *run) valueBeside(saved dbfile.Entry, present etcd.KeyValue) (value []byte, same bool, err error) {
	if r.entries.Length(saved) != int64(len(present.Value)) && !r.Write {
		return nil, false, nil
	}
	value, err = r.entries.Value(saved)
	return value, bytes.Equal(value, present.Value), err
}

// unlessChanged calls change, unless the key was written or deleted since the comparison: then it is a conflict. modRevision is that of the present
// key; 0 if there is none.
func (r *run) unlessChanged(key []byte, modRevision int64, change func() error) error {
	changed := modRevision > r.result.Revision
	if r.was != nil {
		before, known, err := r.was.modRevision(key)
		if err != nil {
			return err
		}
		changed = changed || known && before != modRevision
	}
	if changed {
		r.conflict(key)
		return nil
	}
	return change()
}
