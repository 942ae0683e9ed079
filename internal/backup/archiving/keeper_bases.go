package archiving

import (
	"context"
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

// cover asks for a snapshot if the newest revisions cannot be restored without it. A snapshot of another EtcdBackup does not count: it may be
// deleted at any time, by the retention of that EtcdBackup or with it.
func (k *keeper) cover(ctx context.Context, o state.JobSpec, bases []archive.Base) {
	ours := func(b archive.Base) bool {
		return o.Took(b.Key, k.known[b.Key].Manifest) && k.survey.Covers(b)
	}
	switch {
	case !k.survey.Covered:
		k.askForBase(ctx, fmt.Sprintf("no snapshot reaches the revisions after %d", k.survey.Unbroken))
	case !slices.ContainsFunc(bases, ours):
		k.askForBase(ctx, fmt.Sprintf("no snapshot of EtcdBackup %s reaches the revisions after %d", o.Name, k.survey.Unbroken))
	}
}

// askForBase asks for a snapshot, for example because the newest revisions cannot be restored without one. An archiver before this one
// may have ended before it got it, or somebody has deleted it.
func (k *keeper) askForBase(ctx context.Context, reason string) {
	reason = archiver.Because(k.current().recovery, reason)
	at, again := k.asked[reason]
	if k.vain || k.Archiver.look().Want != "" || again && k.job.Now().Sub(at) < limits.AskAgain {
		return
	}
	k.asked[reason] = k.job.Now()
	go func() {
		_, _ = k.ask(ctx, reason) // it fails only if ctx ends
	}()
}

// following returns how many segments follow the newest snapshot.
func (k *keeper) following(now archiver.Status) int64 {
	return int64(k.survey.Following) + now.Segments - k.seen.Segments
}

// limitLinks asks for a snapshot before so many segments follow the last one that a restore refuses them.
func (k *keeper) limitLinks(ctx context.Context, status archiver.Status) {
	const limit = archive.MaxLinks / 2
	if k.surveyed && k.following(status) >= limit {
		k.askForBase(ctx, fmt.Sprintf("%d segments follow the snapshot at revision %d", limit, k.base))
	}
}
