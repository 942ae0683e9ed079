package inventory

import (
	"context"
	"slices"
	"strconv"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/follower"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// NeededFrom returns the base before which no target in the window needs anything, and false if there is none. It asks the store for failed restore tests
// that the listing omits: a replay cannot begin with such a snapshot, so an earlier one needs what is before it. The targets after each of the selected
// bases are needed, too.
func NeededFrom(ctx context.Context, store objstore.Store, o state.JobSpec, survey archive.Survey, index catalog.Index, known catalog.Known, selected ...archive.Base) (base archive.Base, found bool, err error) {
	if len(survey.Starts) == 0 {
		return base, false, nil
	}
	id, err := strconv.ParseUint(survey.Starts[len(survey.Starts)-1].ClusterID, 16, 64)
	if err != nil {
		return base, false, nil //nolint:nilerr // then it is not known what is needed
	}
	items, err := o.Keep.AskedBases(ctx, store, o.SeriesOf(etcd.ID(id)), index, known)
	if len(items) == 0 || err != nil {
		return base, false, err
	}
	froms := make([]archive.Base, len(items))
	for i, item := range items {
		froms[i] = source.BaseOf(item.Key, known[item.Key].Manifest, item.Stored)
	}
	base = froms[len(froms)-1] // the signed one, if there are two
	for _, b := range slices.Concat(froms, selected) {
		from := follower.FloorOf(survey, b) // a store may have received the older one later
		older := b.Stored.Before(base.Stored) || b.Point.At.Before(base.Point.At)
		if before := from.Before(follower.FloorOf(survey, base)); before && from != (follower.Floor{}) || older && from == (follower.Floor{}) {
			base = b
		}
	}
	return base, true, nil
}

// OutdatedBy returns what of the archive neither a target in the window needs, nor one after a selected base.
func OutdatedBy(ctx context.Context, store objstore.Store, o state.JobSpec, survey archive.Survey, index catalog.Index, known catalog.Known, selected ...archive.Base) (outdated []archive.Name, more bool, err error) {
	base, found, err := NeededFrom(ctx, store, o, survey, index, known, selected...)
	if !found || err != nil {
		return nil, false, err
	}
	return survey.Outdated(ctx, store, o.ArchiveRoot(), base, MaxOutdated)
}

// SelectedBases returns the bases that each waiting EtcdRestore may begin with, and those with the signature that is required: others can write any number
// without one.
func SelectedBases(o state.JobSpec, selections []clients.Selection, bases []archive.Base, known catalog.Known) (selected []archive.Base) {
	selected = choices(selections, bases)
	if !o.Keep.Signers.Required() {
		return selected
	}
	return append(selected, choices(selections, slices.DeleteFunc(slices.Clone(bases), func(b archive.Base) bool {
		return o.Keep.Signers.Check(b.Key, known[b.Key].Manifest) != nil
	}))...)
}

func choices(selections []clients.Selection, bases []archive.Base) (chosen []archive.Base) {
	byKey, names := make(map[string]archive.Base, len(bases)), make([]string, 0, len(bases))
	for _, b := range bases {
		byKey[b.Key], names = b, append(names, b.Key)
	}
	among, has := clients.Candidates(names), map[string]bool{}
	for _, s := range selections {
		if !s.Point {
			continue
		}
		for _, key := range s.Choices(among) {
			if !has[key] { // each is compared with all timelines
				has[key], chosen = true, append(chosen, byKey[key])
			}
		}
	}
	return chosen
}

// MaxOutdated is how many outdated links are held between two looks.
const MaxOutdated = 50_000

// MaxRefused is how many keys of objects are held that the store did not delete.
const MaxRefused = 1000

// Protected returns what waiting EtcdRestores select, and adds to the policy who must have signed a snapshot. With an error, nothing may be deleted.
func Protected(ctx context.Context, c *clients.Clients, o *state.JobSpec) (selections []clients.Selection, err error) {
	if selections, err = c.Selections(ctx, *o); err == nil {
		_, o.Keep.Signers, err = c.Signing(ctx, *o)
	}
	return selections, err
}

// SelectsMore reports whether an EtcdRestore that waits is none of those which were known when it was found out what is needed. Deletions take hours if there is much
// to delete, so it is asked again before each part. With an error, that is not known.
func SelectsMore(ctx context.Context, c *clients.Clients, o state.JobSpec, known []clients.Selection) (bool, error) {
	now, err := c.Selections(ctx, o)
	return clients.SelectMore(now, known), err
}
