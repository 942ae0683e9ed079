package retention

import (
	"cmp"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

const (
	// deleteBatch is the maximum number of snapshots that one run deletes. The next run continues.
	deleteBatch = 500
	// ForeignBatch is the maximum number of manifests of other EtcdBackups that one run reads.
	ForeignBatch = 1000
	// A snapshot with less than one shrinkFactor-th of the keys of an earlier one does not replace it.
	shrinkFactor = 10
)

// held returns why nothing may be deleted at present. If a signature is required, the signed snapshots alone may hold deletions, too: a result of a
// test has no signature, so one that others wrote for a snapshot of theirs ends no hold.
func (v *view) held(d *Decision) string {
	why := v.heldBy(d, func(int) bool { return true })
	if why != "" || len(d.Need) > 0 || !v.policy.Signers.Required() || v.mostlyUnsigned() {
		return why
	}
	return v.heldBy(d, v.signed)
}

// heldBy is held for some of the items.
func (v *view) heldBy(d *Decision, counts func(i int) bool) string {
	newest := v.first(counts)
	if newest < 0 {
		return ""
	}
	if v.policy.Verify && v.items[newest].Verdict == "" {
		return "No snapshot is deleted, because the newest one is not verified: " + v.items[newest].Key + "."
	}
	if !v.policy.Verify && !v.policy.Tests {
		return ""
	}
	tested := v.first(func(i int) bool { return v.items[i].Verdict != "" && counts(i) })
	if key := unreadFailed(v, tested); key != "" {
		return failedTest(key)
	}
	if tested < 0 {
		return ""
	}
	if _, known := v.manifest(tested); !known {
		d.Need = append(d.Need, testedFrom(v, tested)...)
		return ""
	}
	if v.items[tested].Verdict == snapshot.Failed {
		return failedTest(v.items[tested].Key)
	}
	return ""
}

// testedFrom returns tested items that were not read: the one at the index, and as many older ones as lack a signature.
func testedFrom(v *view, first int) (items []catalog.Item) {
	for i := first; i < len(v.items) && len(items) <= len(v.unsigned); i++ {
		if _, known := v.manifest(i); !known && v.items[i].Verdict != "" {
			items = append(items, v.items[i])
		}
	}
	return items
}

func failedTest(key string) string {
	return "No snapshot is deleted until a newer one passes its restore test: " + key + " failed."
}

// unreadFailed returns the key of the newest tested snapshot if that failed and its manifest cannot be read, so that it is not among the items. tested
// is the index of the newest tested item, or -1. The result is empty if there is no such snapshot.
func unreadFailed(v *view, tested int) string {
	newest := ""
	if tested >= 0 {
		newest = v.items[tested].Key
	}
	failed := ""
	for _, i := range v.unreadable {
		if i.Verdict == "" || i.Key < newest {
			continue
		}
		newest, failed = i.Key, ""
		if i.Verdict == snapshot.Failed {
			failed = i.Key
		}
	}
	return failed
}

// Decision is what retention does next.
type Decision struct {
	// Need are the snapshots whose manifests must be read before anything is decided. It is empty if all else is valid.
	Need []catalog.Item
	// Delete are the keys to delete, in this order.
	Delete []string
	// Notices describe in sentences why snapshots are kept that no rule keeps.
	Notices []string
}

// view is the part of a series that a policy decides about.
type view struct {
	policy Policy
	known  catalog.Known
	// items may be deleted, newest first, as far as is known.
	items []catalog.Item
	// foreign is the number of snapshots of other owners that were read. strange are those of them that should not be in the folder.
	foreign int
	strange []catalog.Item
	future  []catalog.Item
	// unreadable are snapshots whose manifests cannot be read.
	unreadable []catalog.Item
	// unsigned are the keys of the items that were read and lack the signature that is required.
	unsigned map[string]bool
}

func newView(series snapshot.Series, index catalog.Index, known catalog.Known, p Policy) *view {
	v := &view{policy: p, known: known, items: make([]catalog.Item, 0, len(index.Items)), unsigned: map[string]bool{}}
	for _, item := range index.Items {
		reading, read := known[item.Key]
		switch {
		case item.Series != series:
		case item.Key != p.Saved && item.Future(p.Now):
			v.future = append(v.future, item)
		case !read:
			v.items = append(v.items, item)
		case reading.Unreadable():
			v.unreadable = append(v.unreadable, item)
		case reading.Err != nil: // deleted meanwhile
		default:
			v.add(item, p.Owner.Compare(item.Key, reading.Manifest))
		}
	}
	slices.SortFunc(v.items, byKey)
	return v
}

func (v *view) add(item catalog.Item, claim snapshot.Claim) {
	if claim == snapshot.Own {
		v.items = append(v.items, item)
		if v.policy.Signers.Check(item.Key, v.known[item.Key].Manifest) != nil {
			v.unsigned[item.Key] = true
		}
		return
	}
	v.foreign++
	if claim.Foreign() {
		v.strange = append(v.strange, item)
	}
}

// manifest returns the manifest of an item, if it was read.
func (v *view) manifest(i int) (snapshot.Manifest, bool) {
	reading, known := v.known[v.items[i].Key]
	return reading.Manifest, known
}

// first returns the index of the newest item that fits, or -1.
func (v *view) first(fits func(i int) bool) int {
	for i := range v.items {
		if fits(i) {
			return i
		}
	}
	return -1
}

// byKey sorts newest first: the byte order of keys is the order of time.
func byKey(a, b catalog.Item) int { return cmp.Compare(b.Key, a.Key) }

// signed reports whether an item has the signature that is required. One whose manifest is not known counts as signed: it is kept, so that its
// manifest is read next.
func (v *view) signed(i int) bool { return !v.unsigned[v.items[i].Key] }

// mostlyUnsigned reports whether a run has read enough manifests without the signature that is required. It keeps all others then.
func (v *view) mostlyUnsigned() bool { return len(v.unsigned) > ForeignBatch }
