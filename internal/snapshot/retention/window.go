package retention

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// window keeps what a continuous archive needs to reach every revision of Policy.Window: all snapshots of that time, and the
// newest good one before it.
func (v *view) window(kept []bool) {
	if v.policy.Window <= 0 {
		return
	}
	base := v.base()
	for i := range kept {
		kept[i] = kept[i] || base < 0 || i <= base || v.items[i].Stored.IsZero() || !v.items[i].Since().Before(v.items[base].Since())
	}
}

// storeAhead returns a notice about a snapshot that the store received in the future. Its clock was ahead, or that of the operator is behind.
func (v *view) storeAhead() string {
	if v.policy.Window <= 0 || v.policy.Now.IsZero() {
		return ""
	}
	for _, i := range v.items {
		if ahead := i.Stored.Sub(v.policy.Now); ahead > snapshot.Skew {
			return fmt.Sprintf("The store reports that it received the snapshot %s at %s, which is %s after the present time of the operator. "+
				"The snapshot counts as new until then, and it makes no other snapshot older. Check the clocks of the store and of the node.",
				i.Key, i.Stored.UTC().Format(time.RFC3339), ahead.Round(time.Second))
		}
	}
	return ""
}

// base returns the index of the newest good item that is older than the window. It returns -1 if there is none. Ages count from Latest, so a
// wrong clock of the operator or of the store deletes nothing. An item whose manifest is not known counts as good: it is kept, so that its
// manifest is read next.
//
// No replay begins with an item in an archive class, so an earlier one that can be read at once is the base. But it must be younger than three
// windows: a lifecycle rule may move all items but a small old one, and that one must not keep the archive for ever.
//
// If a signature is required, the window of the signed items is kept, too: others can write items without one, and no replay begins with these.
func (v *view) base() int {
	base := v.baseOf(func(int) bool { return true })
	if base < 0 || !v.policy.Signers.Required() {
		return base
	}
	signed := v.baseOf(v.signed)
	if signed < 0 || v.items[signed].Since().Before(v.items[base].Since()) {
		return signed
	}
	return base
}

// baseOf is base for the items that count.
func (v *view) baseOf(counts func(i int) bool) int {
	if warm := v.newestBase(counts, func(i catalog.Item, age time.Duration) bool { return !i.Cold && age < 3*v.policy.Window }); warm >= 0 {
		return warm
	}
	return v.newestBase(counts, func(catalog.Item, time.Duration) bool { return true })
}

func (v *view) newestBase(counts func(i int) bool, fits func(i catalog.Item, age time.Duration) bool) int {
	var counted []catalog.Item
	for i, item := range v.items {
		if counts(i) {
			counted = append(counted, item)
		}
	}
	newest := catalog.Latest(counted)
	base := -1
	for i, item := range v.items {
		if !counts(i) {
			continue
		}
		age := newest.Sub(item.Since())
		old := !item.Stored.IsZero() && age >= v.policy.Window
		good := item.Verdict == snapshot.Passed || item.Verdict != snapshot.Failed && !v.policy.Verify && !v.policy.Tests
		if m, _ := v.manifest(i); !old || !good || m.NoQuorum || !fits(item, age) {
			continue
		}
		if base < 0 || item.Since().After(v.items[base].Since()) {
			base = i
		}
	}
	return base
}

// Base returns the snapshot before which a continuous archive may be deleted. It returns false if nothing may be deleted. If a signature is required, it
// is one of two, see Bases. known must have all manifests of the series.
func (p Policy) Base(series snapshot.Series, index catalog.Index, known catalog.Known) (catalog.Item, bool) {
	bases := p.Bases(series, index, known)
	if len(bases) == 0 {
		return catalog.Item{}, false
	}
	return bases[0], true
}

// Bases returns the snapshots before which a continuous archive may be deleted, as far as none of them needs it. It returns none if nothing may be deleted.
// There is one, and another one that is signed if the first one lacks the signature that is required: others can have written any revision into its
// manifest. known must have all manifests of the series.
func (p Policy) Bases(series snapshot.Series, index catalog.Index, known catalog.Known) (bases []catalog.Item) {
	v := newView(series, index, known, p)
	var d Decision
	if p.Window <= 0 || v.held(&d) != "" || len(d.Need) > 0 {
		return nil
	}
	at := []int{v.base()}
	if first := at[0]; first >= 0 && !v.signed(first) {
		at = append(at, v.baseOf(v.signed))
	}
	for _, i := range at {
		if i < 0 {
			return nil
		}
		if m, read := v.manifest(i); !read || m.NoQuorum {
			return nil
		}
		bases = append(bases, v.items[i])
	}
	return bases
}

// AskedBases is Bases for a store: it asks for the failed restore tests that the listing omits, of the bases and of the newest snapshots up to a
// tested one. With an error, nothing may be deleted.
func (p Policy) AskedBases(ctx context.Context, store objstore.Getter, series snapshot.Series, index catalog.Index, known catalog.Known) ([]catalog.Item, error) {
	index.Items = slices.Clone(index.Items)
	asked := map[string]bool{}
	for {
		bases := p.Bases(series, index, known)
		if len(bases) == 0 {
			return nil, nil
		}
		changed := false
		for _, item := range append(p.decisive(newView(series, index, known, p)), bases...) {
			if asked[item.Key] || item.Verdict == snapshot.Failed {
				continue
			}
			asked[item.Key] = true
			failed, err := snapshot.FailedTest(ctx, store, item.Key)
			if err != nil {
				return nil, err
			}
			if failed {
				index.SetVerdict(item.Key, snapshot.Failed)
				changed = true
			}
		}
		if !changed {
			return bases, nil
		}
	}
}

// decisive returns the newest items up to the first one that was tested: if that one failed, it holds all deletions. If a signature is required, these are
// signed ones: others can write any number of items and of results.
func (p Policy) decisive(v *view) (items []catalog.Item) {
	if !p.Verify && !p.Tests {
		return nil
	}
	tested := v.first(func(i int) bool { return v.items[i].Verdict != "" && v.signed(i) })
	for i := range tested + 1 {
		if v.signed(i) {
			items = append(items, v.items[i])
		}
	}
	return items
}
