package retention

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// rules reports for each item whether a rule other than Within keeps it. A failed snapshot takes no other's place, and neither does one without the
// signature that is required: the rules apply to all items, to those that did not fail, and to the signed ones of both.
func (v *view) rules() []bool {
	kept := v.policy.keptByRules(v.items)
	sound := func(i int) bool { return v.items[i].Verdict != snapshot.Failed }
	v.keepAmong(kept, sound)
	if v.policy.Signers.Required() && !v.mostlyUnsigned() {
		v.keepAmong(kept, v.signed)
		v.keepAmong(kept, func(i int) bool { return sound(i) && v.signed(i) })
	}
	v.window(kept)
	return kept
}

// keepAmong keeps what the rules keep of some items.
func (v *view) keepAmong(kept []bool, counts func(i int) bool) {
	var some []catalog.Item
	var at []int
	for i, item := range v.items {
		if counts(i) {
			some, at = append(some, item), append(at, i)
		}
	}
	for i, keep := range v.policy.keptByRules(some) {
		kept[at[i]] = kept[at[i]] || keep
	}
}

// protect keeps what is kept whatever the rules say.
func (v *view) protect(d *Decision, kept []bool) {
	for _, signed := range []bool{false, true} {
		v.keepFirst(d, kept, signed, func(i catalog.Item, m snapshot.Manifest) bool { return i.Verdict != snapshot.Failed && !m.NoQuorum })
		if v.policy.Verify || v.policy.Tests {
			v.keepFirst(d, kept, signed, func(i catalog.Item, m snapshot.Manifest) bool { return i.Verdict == snapshot.Passed && !m.NoQuorum })
			v.keepFirst(d, kept, signed, func(i catalog.Item, _ snapshot.Manifest) bool { return i.Verdict == snapshot.Passed })
		}
	}
	for i, item := range v.items {
		if item.Key == v.policy.Saved || v.policy.within(item) || v.mostlyUnsigned() && v.signed(i) {
			kept[i] = true
		}
	}
}

// keepFirst keeps the newest item that is good, or the newest one of those with the signature that is required. It asks for manifests in growing
// numbers until it finds one, and keeps all if there is none among many.
func (v *view) keepFirst(d *Decision, kept []bool, signed bool, good func(catalog.Item, snapshot.Manifest) bool) {
	if len(d.Need) > 0 || signed && (!v.policy.Signers.Required() || v.mostlyUnsigned()) {
		return
	}
	var unknown []catalog.Item
	bad := 0
	for i, item := range v.items {
		m, known := v.manifest(i)
		found := known && good(item, m) && (!signed || v.signed(i))
		switch {
		case !good(item, snapshot.Manifest{}): // whatever its manifest is
			continue
		case !known:
			unknown = append(unknown, item)
		case found:
			if kept[i] = true; len(unknown) == 0 {
				return
			}
		default:
			bad++
		}
		if bad > ForeignBatch {
			for i := range kept {
				kept[i] = true
			}
			return
		}
		if found || len(unknown) > bad {
			d.Need = append(d.Need, unknown...)
			return
		}
	}
	d.Need = append(d.Need, unknown...)
}

// candidates returns the items to delete, newest first. If there are more than one run deletes, it returns the oldest ones, and a part
// of the others that changes with time: those that cannot be deleted must not stand in the way of those that can.
// Once a run has read enough manifests in vain, it returns only items whose manifests are known.
func (v *view) candidates(kept []bool) []int {
	var all []int
	spent := v.foreign+len(v.unreadable) > ForeignBatch
	for i, keep := range kept {
		if _, known := v.manifest(i); !keep && (known || !spent) {
			all = append(all, i)
		}
	}
	if len(all) <= deleteBatch {
		return all
	}
	const half = deleteBatch / 2
	rest, oldest := all[:len(all)-half], all[len(all)-half:]
	from := int(uint64(v.policy.Now.Unix()) % uint64(len(rest))) // any number will do
	rest = slices.Concat(rest[from:], rest[:from])[:half]
	slices.Sort(rest)
	return slices.Concat(rest, oldest)
}

// shrunk returns the first item, newest first, that has so many more keys than the newest that it must not be replaced. The index is -1 if there is none. An empty
// keyspace can call itself healthy (etcd issue 22376). If a signature is required, only signed items count, and those before all of them: others can write any number
// of keys into a manifest without a signature.
func (v *view) shrunk() (border int, why string) {
	newest, named, oldest := v.first(v.signed), "The newest snapshot", -1
	for i := range v.items {
		if _, known := v.manifest(i); known && v.signed(i) {
			oldest = i
		}
	}
	counts := func(i int) bool { return v.signed(i) || i > oldest }
	if newest < 0 || v.mostlyUnsigned() {
		newest, counts = 0, func(int) bool { return true }
	}
	if newest > 0 {
		named = "The newest signed snapshot"
	}
	return v.shrunkSince(newest, named, counts)
}

func (v *view) shrunkSince(first int, named string, counts func(i int) bool) (border int, why string) {
	newest, read := v.manifest(first)
	for i := first; i < len(v.items) && read; i++ {
		m, known := v.manifest(i)
		if !known || !counts(i) || newest.Keys*shrinkFactor >= m.Keys {
			continue
		}
		return i, fmt.Sprintf("%s has %d keys, over 90 %% fewer than the %d keys of %s. That snapshot and all earlier ones are kept. "+
			"If the keys were lost, restore that snapshot. If they were deleted on purpose, delete the earlier snapshots from the bucket.",
			named, newest.Keys, m.Keys, v.items[i].Key)
	}
	return -1, ""
}

// notices describe what does not take part in retention.
func (v *view) notices() (notices []string) {
	if n := len(v.unreadable); n > 0 {
		first := v.unreadable[0].Key
		notices = append(notices, fmt.Sprintf("%s cannot be read, and the operator keeps the snapshot: %s: %v.", plural(n, "manifest"), first, v.known[first].Err))
	}
	if n := len(v.strange); n > 0 {
		notices = append(notices, fmt.Sprintf("%s in the folder by another Kubernetes or another namespace: they are kept and do not count, for example %s. "+
			"Give each Kubernetes a folder of its own.", plural(n, "snapshot"), v.strange[0].Key))
	}
	if n := len(v.future); n > 0 {
		notices = append(notices, fmt.Sprintf("%s from the future is kept and does not count, for example %s. Check the clocks.", plural(n, "snapshot"), v.future[0].Key))
	}
	return notices
}

// KeptByNames returns the keys of the snapshots that the rules keep as far as names tell, and of the newest one that has passed its test.
func (p Policy) KeptByNames(series snapshot.Series, index catalog.Index) map[string]bool {
	v := newView(series, index, catalog.Known{}, p)
	kept := map[string]bool{}
	for i, keep := range v.rules() {
		if keep || p.within(v.items[i]) {
			kept[v.items[i].Key] = true
		}
	}
	if i := slices.IndexFunc(v.items, func(i catalog.Item) bool { return i.Verdict == snapshot.Passed }); i >= 0 {
		kept[v.items[i].Key] = true
	}
	return kept
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
