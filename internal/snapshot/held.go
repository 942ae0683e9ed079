package snapshot

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
	if key := v.unreadFailed(tested); key != "" {
		return failedTest(key)
	}
	if tested < 0 {
		return ""
	}
	if _, known := v.manifest(tested); !known {
		d.Need = append(d.Need, v.testedFrom(tested)...)
		return ""
	}
	if v.items[tested].Verdict == Failed {
		return failedTest(v.items[tested].Key)
	}
	return ""
}

// testedFrom returns tested items that were not read: the one at the index, and as many older ones as lack a signature.
func (v *view) testedFrom(first int) (items []Item) {
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
