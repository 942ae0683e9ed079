package retention

import (
	"context"
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// Decide applies a policy to the snapshots of a series. It is pure: the caller reads the manifests in Need, adds them to
// known, and calls again. The number of manifests depends on the policy and not on the length of the series.
//
// Decide only deletes snapshots whose key and manifest are of this series and policy. It never deletes:
//   - the newest snapshot, the one just saved, and the newest good one,
//   - anything, while the newest restore test failed, or Verify is set and the newest snapshot has not passed,
//   - an unreadable snapshot, or one from the future,
//   - a snapshot, and all earlier ones, with over 90 % more keys than the newest one.
//
// Decide also completes deletions that a killed process has begun. A listing may omit an object, so only the store's answer about that
// object proves that it was deleted, see Reading.
func Decide(series snapshot.Series, index catalog.Index, known catalog.Known, p Policy) Decision {
	var d Decision
	d.note(p.correct())
	d.complete(series, index, known, p)
	v := newView(series, index, known, p)
	if len(d.Need) == 0 && !p.KeepsAll() && len(v.items) > 0 {
		d.prune(v, index)
	}
	if len(d.Need) > 0 {
		return Decision{Need: d.Need}
	}
	d.note(v.storeAhead())
	d.Notices = append(d.Notices, v.notices()...)
	return d
}

// Retain decides about a store: it reads the manifests that Decide needs, and adds them to known. It decides nothing about an incomplete index.
// Before anything is deleted, it asks for failed restore tests that the listing omits.
func Retain(ctx context.Context, store objstore.Store, series snapshot.Series, index catalog.Index, known catalog.Known, p Policy) (Decision, error) {
	if index.Incomplete != nil {
		return Decision{}, index.Incomplete
	}
	asked := map[string]bool{}
	for {
		d := Decide(series, index, known, p)
		if len(d.Need) == 0 {
			changed, err := d.askFailed(ctx, store, &index, known, p, asked)
			if err != nil || !changed {
				return d, err
			}
			continue
		}
		if err := known.Read(ctx, store, d.Need, snapshot.Anyone); err != nil {
			return Decision{}, err
		}
	}
}

// askFailed asks for the failed restore tests that the index lacks: of the snapshots for which others are deleted, and of untested ones that are
// deleted if a failed one holds all deletions. It returns whether there is one, so that the decision may be another one. With an error, nothing is
// deleted.
func (d *Decision) askFailed(ctx context.Context, store objstore.Getter, index *catalog.Index, known catalog.Known, p Policy, asked map[string]bool) (changed bool, err error) {
	if len(d.Delete) == 0 {
		return false, nil
	}
	index.Items = slices.Clone(index.Items)
	for i, item := range index.Items {
		reading, read := known[item.Key]
		read = read && reading.Err == nil // nothing is deleted for one that cannot be read
		matters := !slices.Contains(d.Delete, item.Key) || item.Verdict == "" && (p.Verify || p.Tests)
		if !read || !matters || item.Verdict == snapshot.Failed || asked[item.Key] || item.Key == p.Saved {
			continue
		}
		asked[item.Key] = true
		failed, err := snapshot.FailedTest(ctx, store, item.Key)
		if err != nil {
			d.Delete = nil
			return false, err
		}
		if failed {
			index.Items[i].Verdict, changed = snapshot.Failed, true
		}
	}
	return changed, nil
}

// complete finishes deletions that a killed process has begun.
func (d *Decision) complete(series snapshot.Series, index catalog.Index, known catalog.Known, p Policy) {
	left := deleteBatch
	for _, key := range index.Headless {
		parsed, _ := snapshot.ParseKey(key)
		if left == 0 || parsed.Series != series {
			continue
		}
		left--
		reading, ok := known[key]
		switch {
		case !ok:
			d.Need = append(d.Need, catalog.Item{Key: key, Series: parsed.Series, Time: parsed.Time})
		case reading.Err != nil || p.Owner.Compare(key, reading.Manifest) != snapshot.Own:
		case reading.Gone:
			d.Delete = append(d.Delete, index.Names(key)[1:]...)
		default:
			d.note("The store has the object " + key + ", but did not list it. The operator deletes nothing of that snapshot. Check the store.")
		}
	}
}

// prune deletes what no rule keeps.
func (d *Decision) prune(v *view, index catalog.Index) {
	kept := v.rules()
	if d.need(v, kept); len(d.Need) > 0 && v.foreign > ForeignBatch {
		d.Need = nil
		d.note(fmt.Sprintf("No snapshot is deleted: over %d snapshots in the folder belong to other EtcdBackups. Give this EtcdBackup a folder of its own.", ForeignBatch))
	} else if len(d.Need) == 0 {
		d.deleteUnkept(v, kept, index)
	}
}

// deleteUnkept deletes items that no rule keeps, unless something else keeps them.
func (d *Decision) deleteUnkept(v *view, kept []bool, index catalog.Index) {
	if why := v.held(d); why != "" || len(d.Need) > 0 {
		d.note(why)
		return
	}
	if v.protect(d, kept); len(d.Need) > 0 {
		return
	}
	candidates := v.candidates(kept)
	for _, i := range candidates {
		if _, known := v.manifest(i); !known {
			d.Need = append(d.Need, v.items[i])
		}
	}
	if len(d.Need) > 0 {
		return
	}
	border, why := v.shrunk()
	d.note(why)
	// Locks end oldest first, and a killed run should leave the newest ones.
	for _, i := range slices.Backward(candidates) {
		if border < 0 || i < border {
			d.Delete = append(d.Delete, index.Names(v.items[i].Key)...)
		}
	}
}

func (d *Decision) note(text string) {
	if text != "" {
		d.Notices = append(d.Notices, text)
	}
}

// need asks for the unknown manifests of the kept items and of the two newest, which are compared. If some manifests
// were of other EtcdBackups, or lacked the signature that is required, it asks for as many more, so that the number of calls grows with the logarithm of their
// number.
func (d *Decision) need(v *view, kept []bool) {
	more := v.foreign
	if !v.mostlyUnsigned() {
		more += len(v.unsigned)
	}
	for i, keep := range kept {
		_, known := v.manifest(i)
		keep = keep || i <= 1
		if known || !keep && (more == 0 || len(d.Need) == 0) {
			continue
		}
		if !keep {
			more--
		}
		d.Need = append(d.Need, v.items[i])
	}
}
