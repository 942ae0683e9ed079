package verify

import (
	"context"
	"errors"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// errStillFailed means that the earlier snapshot of a failed proof exists, and cannot be rolled forward to the end of that proof or behind it: after
// a gap or a restore there is no way. A proof from another snapshot would pass beside the damage.
var errStillFailed = errors.New("the snapshot of the failed proof does not lead to a later one")

// distrusted is a part of the archive whose proof has failed.
type distrusted struct {
	key      string           // of the snapshot with which it begins; empty if no proof has failed
	timeline archive.Timeline // 0 if only the status has the proof
	to       int64            // the last revision of all proofs that failed from there; 0 if it is not known
}

// distrustedPart returns the part whose proof has failed, and an empty one if none has or if the earlier snapshot was deleted.
func distrustedPart(ctx context.Context, o state.JobSpec, store objstore.Store, proofs []archive.ProofName) (distrusted, error) {
	failed, err := standing(ctx, store, o.ArchiveRoot(), proofs)
	switch {
	case err != nil:
		return distrusted{}, err
	case failed != nil && failed.FromKey == "": // its object cannot be decoded
		return distrusted{}, errStillFailed
	case failed != nil:
		part := distrusted{key: failed.FromKey, timeline: failed.Timeline, to: failed.To}
		for _, n := range proofs {
			if n.Failed && n.Timeline == failed.Timeline && n.From == failed.From {
				part.to = max(part.to, n.To)
			}
		}
		return part, nil
	case o.Distrusted == nil || o.Distrusted.From == "":
		return distrusted{}, nil
	}
	key := strings.TrimPrefix(o.Distrusted.From, o.Target.Bucket+"/")
	gone, err := objstore.Gone(ctx, store, key)
	if gone || err != nil {
		return distrusted{}, err
	}
	return distrusted{key: key, to: o.Distrusted.Revision}, nil
}

// endOf returns the first snapshot at a revision or after it that can be read. It is the newest one if there is none before that.
func (s provable) endOf(ctx context.Context, newest v1beta2.Snapshot, revision int64) (v1beta2.Snapshot, error) {
	if revision == 0 || revision >= newest.Revision {
		return newest, nil
	}
	start, err := s.from(ctx, revision)
	if err != nil {
		return newest, err
	}
	bases, err := s.chosen(ctx, s.items[start:min(len(s.items), start+proofBases)])
	if err != nil {
		return newest, err
	}
	for _, b := range bases {
		if b.Point.Revision < revision || b.Point.Revision >= newest.Revision {
			continue
		}
		unread, err := s.unreadable(ctx, b.Key)
		if err != nil {
			return newest, err
		}
		if !unread {
			return s.shown(b), nil
		}
	}
	return newest, nil
}
