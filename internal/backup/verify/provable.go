package verify

import (
	"context"
	"slices"
	"strconv"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// proofBases is how many manifests are read at a time to choose what to prove.
const proofBases = 64

// provable are the snapshots of the newest one's series that did not fail, oldest first, with the manifests that were read.
type provable struct {
	store objstore.Store
	o     state.JobSpec
	items []catalog.Item
	known catalog.Known
	// unread are the keys of those that the store was asked for, and whether it does not return them. No proof begins or ends with such a one.
	unread map[string]bool
}

func provableOf(ctx context.Context, store objstore.Store, o state.JobSpec) (provable, error) {
	s := provable{store: store, o: o, known: catalog.Known{}, unread: map[string]bool{}}
	id, err := strconv.ParseUint(o.Newest.ClusterID, 16, 64)
	if err != nil {
		return s, nil //nolint:nilerr // then there is nothing to begin with
	}
	own := snapshot.Series{Folder: o.Target.Key, Namespace: o.Namespace, Cluster: o.Cluster, ClusterID: id}
	index, err := catalog.Scan(ctx, store, own.Prefix())
	if err != nil {
		return s, err
	}
	for _, item := range slices.Backward(index.Items) {
		if item.Series == own && item.Verdict != snapshot.Failed {
			s.items = append(s.items, item)
		}
	}
	return s, nil
}

// bases reads the manifests of some items and returns those from which a replay can begin, by revision.
func (s provable) bases(ctx context.Context, items []catalog.Item) ([]archive.Base, error) {
	if err := s.known.Read(ctx, s.store, items, snapshot.Anyone); err != nil {
		return nil, err
	}
	var bases []archive.Base
	for _, item := range items {
		if item.Cold {
			if _, err := s.unreadable(ctx, item.Key); err != nil {
				return nil, err
			}
		}
		if r := s.known[item.Key]; r.Err == nil && !s.unread[item.Key] && !r.Manifest.NoQuorum && s.o.OfCluster(item.Key, r.Manifest) {
			bases = append(bases, source.BaseOf(item.Key, r.Manifest, item.Stored))
		}
	}
	slices.SortStableFunc(bases, func(a, b archive.Base) int { return int(min(1, max(-1, a.Point.Revision-b.Point.Revision))) })
	return bases, nil
}

// chosen is bases without the encrypted snapshots of other EtcdBackups of the folder. Those may have been encrypted for an identity that is not in this
// Kubernetes, and a proof that begins or ends with one would fail each time. If a signature is required, it is also without those that lack it, because others can
// write any revision into their manifests.
func (s provable) chosen(ctx context.Context, items []catalog.Item) ([]archive.Base, error) {
	bases, err := s.bases(ctx, items)
	return slices.DeleteFunc(bases, func(b archive.Base) bool {
		m := s.known[b.Key].Manifest
		foreign := m.Encryption != "" && m.Backup != "" && m.Backup != s.o.Name
		return foreign || s.o.Keep.Signers.Check(b.Key, m) != nil
	}), err
}

// unreadable asks once whether the store does not return a snapshot, for example because a lifecycle rule moved it.
func (s provable) unreadable(ctx context.Context, key string) (bool, error) {
	if unread, asked := s.unread[key]; asked {
		return unread, nil
	}
	unread, err := catalog.Item{Key: key}.Unread(ctx, s.store)
	if err == nil {
		s.unread[key] = unread != nil
	}
	return unread != nil, err
}

// from returns the place of the last base at a revision or before it. The revision in a key is not later than that of the snapshot, and not
// each snapshot is a base: one without quorum is none.
func (s provable) from(ctx context.Context, revision int64) (int, error) {
	for i, item := range slices.Backward(s.items) {
		if key, ok := snapshot.ParseKey(item.Key); !ok || key.Revision > revision {
			continue
		}
		bases, err := s.chosen(ctx, s.items[i:i+1])
		if err != nil {
			return 0, err
		}
		if len(bases) > 0 && bases[0].Point.Revision <= revision {
			return i, nil
		}
	}
	return 0, nil
}

// unproven returns the bases of the oldest part of a range that no proof has, oldest first, and nothing if all is proven up to the limit. A
// proof of revisions after the limit does not count: anybody who can write to the store can write one.
func (s provable) unproven(ctx context.Context, proofs []archive.ProofName, r archive.Range, limit int64) ([]archive.Base, error) {
	proofs = slices.DeleteFunc(slices.Clone(proofs), func(n archive.ProofName) bool { return n.To > limit })
	for at := archive.Proven(proofs, r.Timeline, r.From.Revision); at < limit; {
		start, err := s.from(ctx, at)
		if err != nil {
			return nil, err
		}
		next := at
		for end := start; next == at && end < len(s.items); {
			end = min(len(s.items), end+proofBases)
			bases, err := s.chosen(ctx, s.items[start:end])
			if err != nil {
				return nil, err
			}
			bases = slices.DeleteFunc(bases, func(b archive.Base) bool { return b.Point.Revision < r.From.Revision || b.Point.Revision > limit })
			var found []archive.Base
			if found, next = firstUnproven(bases, proofs, r.Timeline, at); found != nil {
				return found, nil
			}
		}
		if next == at {
			return nil, nil
		}
		at = next
	}
	return nil, nil
}

// firstUnproven returns the bases from the first one whose part up to the next one has no proof. Otherwise it returns up to which revision
// proofs lead, which is at least at.
func firstUnproven(bases []archive.Base, proofs []archive.ProofName, t archive.Timeline, at int64) ([]archive.Base, int64) {
	next := at
	for i, b := range bases {
		last := i+1 == len(bases) || bases[len(bases)-1].Point.Revision == b.Point.Revision
		if next = max(next, archive.Proven(proofs, t, b.Point.Revision)); last {
			break
		}
		later := bases[i+1].Point.Revision
		if later > b.Point.Revision && later > next {
			return bases[i:], next
		}
	}
	return nil, next
}

// shown returns a base as the status shows it.
func (s provable) shown(b archive.Base) v1beta2.Snapshot {
	to := s.o.Shown(b.Key, s.known[b.Key].Manifest, snapshot.Anyone)
	to.Revision = b.Point.Revision
	return to
}
