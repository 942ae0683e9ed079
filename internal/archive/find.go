package archive

import (
	"context"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Find is FindOf for the timelines of the clusters that the snapshots are of.
func Find(ctx context.Context, store objstore.Store, root string, bases []Base, progress Progress, target Target, seen ...Seen) (Choice, error) {
	return FindOf(ctx, store, root, evidenceOf(nil, bases, seen).has, bases, seen, progress, target)
}

// FindOf is Select for an archive in a store. It lists all keys, but reads few headers: those of the links from the base to the
// target, and one for each step of a search by time. Only for a refusal it reads on, up to the next base. The zero Progress
// means that it is not known. of reports whether a timeline with a cluster ID counts. Such a timeline ends the search if it had the target,
// even if no base of it can be used: older timelines have other data there. seen are all snapshots that are listed, even those that can be no bases:
// they show which revisions a later cluster had. With an error of a link, the choice has the timeline and the base of the part that has the link.
func FindOf(ctx context.Context, store objstore.Store, root string, of func(clusterID string) bool, bases []Base, seen []Seen, progress Progress, target Target) (Choice, error) {
	all, release, err := listNewer(ctx, store, root, progress)
	if err != nil {
		return Choice{}, err
	}
	defer release()
	if len(all) == 0 {
		return Choice{}, &Refusal{Target: target, Reason: "the archive is empty"}
	}
	w := walk{of: of, bases: bases, progress: progress, target: target, evidence: evidenceOf(nil, bases, seen), held: held{in: objstore.HoldingOf(ctx)}, names: objstore.HoldingOf(ctx).Beside()}
	defer w.names.Release()
	for i, names := range slices.Backward(all) {
		choice, ends, err := w.timeline(ctx, store, root, names, all[:i])
		if err != nil || choice.Timeline > 0 {
			return choice, err
		}
		if ends {
			break
		}
	}
	return Choice{}, w.refusal()
}
