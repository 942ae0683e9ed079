package attempt

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// keptShown is how many snapshots the status lists.
const keptShown = 10

// kept returns the newest snapshots that were not deleted. If a signature is required, others can write snapshots without one: these take the place of no
// signed one, and only earlier ones than those are listed, because they may be from before the snapshots were signed.
func (t *Job) kept(ctx context.Context, o state.JobSpec, s stored, deleted []string) []v1beta2.Snapshot {
	n := keptShown + len(deleted)
	items, err := s.newest(ctx, o, t.Now(), n, s.signed)
	if err != nil {
		return nil
	}
	if s.signers.Required() && len(items) < n {
		earlier, err := s.newest(ctx, o, t.Now(), n-len(items), func(i catalog.Item) bool {
			return !s.signed(i) && (len(items) == 0 || i.Key < items[len(items)-1].Key)
		})
		if err != nil {
			return nil
		}
		items = append(items, earlier...)
	}
	var out []v1beta2.Snapshot
	gone := map[string]bool{}
	for _, key := range deleted {
		gone[key] = true
	}
	for _, item := range items {
		if len(out) < keptShown && !gone[item.Key] {
			told := o.Shown(item.Key, s.known[item.Key].Manifest, s.signers)
			told.RestoreTest = testResults[item.Verdict]
			out = append(out, told)
		}
	}
	return out
}

// prunePart is how many names are deleted before the EtcdRestores are read again. One that was created since may need the others.
var prunePart = 100

// pruneUnneeded deletes the names of snapshots that no EtcdRestore needs. why says which ones are kept for one; empty if there are none.
func (t *Job) pruneUnneeded(ctx context.Context, o state.JobSpec, s stored, names []string) (deleted []string, why string, err error) {
	if len(names) == 0 {
		return nil, "", nil
	}
	all := slices.Clone(names)
	for _, item := range s.index.Items {
		all = append(all, item.Key)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	usable := s.usable(all)
	done := map[string]bool{}
	for {
		needs, failed := t.Needs(ctx, o)
		if failed != nil {
			return deleted, why, cmp.Or(err, failed)
		}
		left := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return done[name] })
		free, needed, failed := needs.Unneeded(ctx, o.Target.Bucket, left, all, usable)
		if why = cmp.Or(needed, why); failed != nil || len(free) == 0 {
			return deleted, why, cmp.Or(err, failed)
		}
		for same := true; same && len(free) > 0; {
			part := firstPart(free)
			removed, failed := prune(ctx, s.store, part)
			deleted, err = append(deleted, removed...), cmp.Or(err, failed)
			if free = free[len(part):]; len(free) == 0 || failed != nil && !objstore.OfObject(failed) {
				return deleted, why, err
			}
			for _, name := range part {
				done[name] = true
			}
			now, failed := t.Needs(ctx, o) // to choose again takes long
			same = failed == nil && now.Equal(needs)
		}
	}
}

// firstPart returns the first names, and all of the last snapshot: if its object is locked, the rest of it is kept, too.
func firstPart(names []string) []string {
	for i, name := range names {
		if _, begins := snapshot.ParseKey(name); begins && i >= prunePart {
			return names[:i]
		}
	}
	return names
}

// prune deletes the names in order, of each snapshot first the object, then its verdict, then its manifest. It returns the keys of the
// deleted snapshots. If the store refuses to delete an object, for example because it is locked, prune keeps the rest of that snapshot,
// and continues with the next one.
func prune(ctx context.Context, store objstore.Store, names []string) (deleted []string, err error) {
	locked := ""
	err = objstore.Each(ctx, names, func(name string) error {
		if locked != "" && strings.HasPrefix(name, locked+".") {
			return nil
		}
		if err := store.Delete(ctx, name); err != nil {
			locked = name
			return fmt.Errorf("delete old snapshot: %w", err)
		}
		if !strings.HasSuffix(name, snapshot.ManifestKey("")) && !snapshot.IsVerdict(name) && !snapshot.IsDraft(name) {
			deleted = append(deleted, name)
		}
		return nil
	}).Err()
	return deleted, err
}
