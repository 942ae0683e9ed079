package snapshot

import (
	"cmp"
	"slices"
)

// Decision is what retention does next.
type Decision struct {
	// Need are the snapshots whose manifests must be read before anything is decided. It is empty if all else is valid.
	Need []Item
	// Delete are the keys to delete, in this order.
	Delete []string
	// Notices describe in sentences why snapshots are kept that no rule keeps.
	Notices []string
}

// view is the part of a series that a policy decides about.
type view struct {
	policy Policy
	known  Known
	// items may be deleted, newest first, as far as is known.
	items []Item
	// foreign is the number of snapshots of other owners that were read. strange are those of them that should not be in the folder.
	foreign int
	strange []Item
	future  []Item
	// unreadable are snapshots whose manifests cannot be read.
	unreadable []Item
	// unsigned are the keys of the items that were read and lack the signature that is required.
	unsigned map[string]bool
}

func newView(series Series, index Index, known Known, p Policy) *view {
	v := &view{policy: p, known: known, items: make([]Item, 0, len(index.Items)), unsigned: map[string]bool{}}
	for _, item := range index.Items {
		reading, read := known[item.Key]
		switch {
		case item.Series != series:
		case item.Key != p.Saved && item.Future(p.Now):
			v.future = append(v.future, item)
		case !read:
			v.items = append(v.items, item)
		case reading.unreadable():
			v.unreadable = append(v.unreadable, item)
		case reading.Err != nil: // deleted meanwhile
		default:
			v.add(item, p.Owner.Compare(item.Key, reading.Manifest))
		}
	}
	slices.SortFunc(v.items, byKey)
	return v
}

func (v *view) add(item Item, claim Claim) {
	if claim == Own {
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
func (v *view) manifest(i int) (Manifest, bool) {
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
func byKey(a, b Item) int { return cmp.Compare(b.Key, a.Key) }

// signed reports whether an item has the signature that is required. One whose manifest is not known counts as signed: it is kept, so that its
// manifest is read next.
func (v *view) signed(i int) bool { return !v.unsigned[v.items[i].Key] }

// mostlyUnsigned reports whether a run has read enough manifests without the signature that is required. It keeps all others then.
func (v *view) mostlyUnsigned() bool { return len(v.unsigned) > foreignBatch }
