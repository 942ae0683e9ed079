package attempt

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
)

// lookback is how many of the newest snapshots in a folder an attempt reads to find its own.
const lookback = 64

// stored is a series in its store, and the manifests that the attempt has read.
type stored struct {
	store  objstore.Store
	series snapshot.Series
	index  catalog.Index
	known  catalog.Known
	// signers of the snapshots. Without any, no snapshot has to be signed.
	signers snapshot.Signers
	// ahead is how far this clock is ahead of the store's. It is nil if that was not measured.
	ahead *time.Duration
	// previous is when the newest snapshot was taken. It is zero if there is none.
	previous time.Time
}

// newest returns at most n of the newest snapshots of the EtcdBackup that count, newest first. It ignores those from the future. If the memory has no room for
// their manifests, it returns those that it has read. Then the index is incomplete, so that nothing is deleted. Of the manifests that the attempt has
// not read, it reads the newest ones only.
func (s *stored) newest(ctx context.Context, o state.JobSpec, now time.Time, n int, counts func(catalog.Item) bool) ([]catalog.Item, error) {
	items := slices.DeleteFunc(slices.Clone(s.index.Items), func(i catalog.Item) bool {
		return i.Series != s.series || i.Future(now)
	})
	left := lookback + n
	var out []catalog.Item
	for chunk := range slices.Chunk(items, 8) {
		unread := slices.DeleteFunc(slices.Clone(chunk), func(i catalog.Item) bool { _, read := s.known[i.Key]; return read })
		unread = unread[:min(len(unread), left)]
		left -= len(unread)
		var err error
		if len(unread) > 0 {
			err = s.known.Read(ctx, s.store, unread, snapshot.Anyone)
		}
		if errors.Is(err, objstore.ErrMemory) || errors.Is(err, objstore.ErrListing) {
			s.index.Incomplete = cmp.Or(s.index.Incomplete, err)
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for _, item := range chunk {
			if reading, read := s.known[item.Key]; read && reading.Err == nil && o.Owns(item.Key, reading.Manifest) && counts(item) {
				out = append(out, item)
			}
		}
		if len(out) >= n {
			return out[:n], nil
		}
	}
	return out, nil
}

// signed reports whether a snapshot whose manifest was read has the signature that is required. Without signers, each has.
func (s *stored) signed(item catalog.Item) bool {
	return s.signers.Check(item.Key, s.known[item.Key].Manifest) == nil
}

// usable returns which of the keys an EtcdRestore that selects a snapshot would take. One that was not read may be.
func (s *stored) usable(keys []string) func(key string) bool {
	unusable := make(map[string]bool, len(keys))
	for _, key := range keys {
		unusable[key] = true
	}
	for _, item := range s.index.Items {
		if !unusable[item.Key] {
			continue
		}
		reading, read := s.known[item.Key]
		unusable[item.Key] = item.Verdict == snapshot.Failed || read && (reading.Err != nil || reading.Manifest.NoQuorum || !s.signed(item))
	}
	return func(key string) bool { return !unusable[key] }
}

// satisfied returns the snapshot that makes another one unnecessary, or nil. For a request it is the snapshot that was
// taken for it, otherwise the newest one if the next is not due yet. The result of its restore test does not matter: a
// failed snapshot is replaced when the next one is due, and not before. One without quorum is no base of an archive.
//
// A user may ask twice with the same words. So a snapshot is not the one of this request if the status reports a newer one:
// the operator handles a request before it takes any other snapshot.
//
// If the snapshots are signed, only a signed one counts: the status will name it, and who can write to the bucket can write a manifest.
func (s *stored) satisfied(ctx context.Context, o state.JobSpec, attempt string, now time.Time) (*catalog.Item, error) {
	n := 1
	if o.Request != "" {
		n = lookback
	}
	items, err := s.newest(ctx, o, now, n, s.signed)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	s.previous = items[0].Time
	for _, item := range items {
		young := state.Spread(o.Rhythm, o.Rhythm.Next(savedAt(item)), o.UID, o.Jitter).After(now)
		m := s.known[item.Key].Manifest
		if o.Request == "" && young {
			return &item, nil
		}
		taken := o.Request != "" && m.Attempt == attempt && (o.Base == "" || !m.NoQuorum) && !s.reportedNewer(o, item, now)
		untested := o.Verify && item.Verdict == ""
		if taken && (young || item.Verdict != snapshot.Failed && !untested) {
			return &item, nil
		}
	}
	return nil, nil
}

// savedAt returns when a snapshot was saved. The time in its key comes from a clock that was ahead if the store received the object well before.
func savedAt(item catalog.Item) time.Time {
	if stored := item.Stored; !stored.IsZero() && stored.Add(snapshot.Skew).Before(item.Time) {
		return stored
	}
	return item.Time
}

// reportedNewer returns whether the status reports a newer snapshot of the series than the item. A time in the future comes from a clock that was
// ahead, and does not count.
func (s *stored) reportedNewer(o state.JobSpec, item catalog.Item, now time.Time) bool {
	at, err := time.Parse(time.RFC3339, o.Newest.CreatedAt)
	return err == nil && !clock.Ahead(at, now) && item.Time.Before(at) && strings.HasPrefix(o.Newest.Path, o.Target.Bucket+"/"+s.series.Prefix())
}

// complete writes the manifests that earlier attempts could not write, and then asks for those that the listing omits. young reports whether one that
// still has no manifest makes another snapshot unnecessary: without that, each attempt would store another object while the store refuses manifests.
func (s *stored) complete(ctx context.Context, o state.JobSpec, attempt string, now time.Time) (young bool, err error) {
	open, err := save.CompleteNewest(ctx, &s.index, s.store, s.series, s.known, o.AttemptPrefix(), s.signers)
	for key, reading := range open {
		named, _ := snapshot.ParseKey(key)
		asked := o.Request != "" && reading.Manifest.Attempt == attempt
		young = young || asked || o.Request == "" && !clock.Ahead(named.Time, now) && state.Spread(o.Rhythm, o.Rhythm.Next(named.Time), o.UID, o.Jitter).After(now)
	}
	if failed := s.index.Ask(ctx, s.store); failed != nil {
		return false, failed
	}
	return young, err
}

// finish completes snapshots of all incarnations of the cluster, and returns the keys of the objects without a manifest that are left.
func (s *stored) finish(ctx context.Context, o state.JobSpec, left catalog.Leftovers) (kept []string, err error) {
	const most = 4 // each of them is read
	kept = left.Keep
	more := max(0, len(left.Unfinished)-most)
	for _, u := range left.Unfinished[:more] {
		kept = append(kept, u.Key)
	}
	err = objstore.Each(ctx, left.Unfinished[more:], func(u catalog.Drafted) error {
		_, done, err := save.Complete(ctx, u, s.store, o.AttemptPrefix(), s.signers)
		if !done {
			kept = append(kept, u.Key)
		}
		return err
	}).Err()
	return kept, err
}

// add adds the snapshot that was just saved.
func (s *stored) add(key string, m snapshot.Manifest) *catalog.Item {
	s.index.Add(key, m)
	s.known[key] = catalog.Reading{Manifest: m}
	item, _ := s.index.Find(key)
	return &item
}

// compareClocks measures how far this clock is ahead of the store's, if retention depends on that and it is not known yet. If it
// fails, nothing may be deleted.
func (s *stored) compareClocks(ctx context.Context, o state.JobSpec, now func() time.Time) (err error) {
	if s.ahead == nil && o.Keep.Within > 0 {
		s.ahead, err = measureAhead(ctx, s.store, s.series, o.UID, now)
	}
	return err
}
