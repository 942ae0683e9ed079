package snapshot

import (
	"cmp"
	"fmt"
	"slices"
)

// byKey sorts newest first: the byte order of keys is the order of time.
func byKey(a, b Item) int { return cmp.Compare(b.Key, a.Key) }

// rules reports for each item whether a rule other than Within keeps it. A failed snapshot takes no other's place: the
// rules apply to all items, and to those that did not fail.
func (v *view) rules() []bool {
	kept := v.policy.keptByRules(v.items)
	var sound []Item
	var at []int
	for i, item := range v.items {
		if item.Verdict != Failed {
			sound, at = append(sound, item), append(at, i)
		}
	}
	for i, keep := range v.policy.keptByRules(sound) {
		kept[at[i]] = kept[at[i]] || keep
	}
	v.window(kept)
	return kept
}

// held returns why nothing may be deleted at present.
func (v *view) held(d *Decision) string {
	if len(v.items) == 0 {
		return ""
	}
	if v.policy.Verify && v.items[0].Verdict == "" {
		return "No snapshot is deleted, because the newest one is not verified: " + v.items[0].Key + "."
	}
	if !v.policy.Verify && !v.policy.Tests {
		return ""
	}
	tested := slices.IndexFunc(v.items, func(i Item) bool { return i.Verdict != "" })
	if key := v.unreadFailed(tested); key != "" {
		return failedTest(key)
	}
	if tested < 0 {
		return ""
	}
	if _, known := v.manifest(tested); !known {
		d.Need = append(d.Need, v.items[tested])
		return ""
	}
	if v.items[tested].Verdict == Failed {
		return failedTest(v.items[tested].Key)
	}
	return ""
}

func failedTest(key string) string {
	return "No snapshot is deleted until a newer one passes its restore test: " + key + " failed."
}

// unreadFailed returns the key of the newest tested snapshot if that failed and its manifest cannot be read, so that it is not among the items. tested
// is the index of the newest tested item, or -1. The result is empty if there is no such snapshot.
func (v *view) unreadFailed(tested int) string {
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
		if i.Verdict == Failed {
			failed = i.Key
		}
	}
	return failed
}

// protect keeps what is kept whatever the rules say.
func (v *view) protect(d *Decision, kept []bool) {
	v.keepFirst(d, kept, func(i Item, m Manifest) bool { return i.Verdict != Failed && !m.NoQuorum })
	if v.policy.Verify || v.policy.Tests {
		v.keepFirst(d, kept, func(i Item, m Manifest) bool { return i.Verdict == Passed && !m.NoQuorum })
		v.keepFirst(d, kept, func(i Item, _ Manifest) bool { return i.Verdict == Passed })
	}
	for i, item := range v.items {
		if item.Key == v.policy.Saved || v.policy.within(item) {
			kept[i] = true
		}
	}
}

// keepFirst keeps the newest item that is good. It asks for manifests in growing numbers until it finds one, and keeps
// all if there is none among many.
func (v *view) keepFirst(d *Decision, kept []bool, good func(Item, Manifest) bool) {
	var unknown []Item
	bad := 0
	for i, item := range v.items {
		m, known := v.manifest(i)
		switch {
		case !good(item, Manifest{}): // whatever its manifest is
			continue
		case !known:
			unknown = append(unknown, item)
		case good(item, m):
			if kept[i] = true; len(unknown) == 0 {
				return
			}
		default:
			bad++
		}
		if bad > foreignBatch {
			for i := range kept {
				kept[i] = true
			}
			return
		}
		if known && good(item, m) || len(unknown) > bad {
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
	spent := v.foreign+len(v.unreadable) > foreignBatch
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

// shrunk returns the first item, newest first, that has so many more keys than the newest that it must not be replaced.
// The index is -1 if there is none. An empty keyspace can call itself healthy (etcd issue 22376).
func (v *view) shrunk() (border int, why string) {
	newest, _ := v.manifest(0)
	for i := range v.items {
		m, known := v.manifest(i)
		if !known || newest.Keys*shrinkFactor >= m.Keys {
			continue
		}
		return i, fmt.Sprintf("The newest snapshot has %d keys, over 90 %% fewer than the %d keys of %s. That snapshot and all earlier ones are kept. "+
			"If the keys were lost, restore that snapshot. If they were deleted on purpose, delete the earlier snapshots from the bucket.",
			newest.Keys, m.Keys, v.items[i].Key)
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

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
