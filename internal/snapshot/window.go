package snapshot

import "time"

// window keeps what a continuous archive needs to reach every revision of Policy.Window: all snapshots of that time, and the
// newest good one before it.
func (v *view) window(kept []bool) {
	if v.policy.Window <= 0 {
		return
	}
	base := v.base()
	for i := range kept {
		kept[i] = kept[i] || base < 0 || i <= base || v.items[i].Stored.IsZero() || !v.items[i].since().Before(v.items[base].since())
	}
}

// since returns from when on a snapshot is a base: by the clock of the store, and by that of the operator if that was ahead. A clock that was
// ahead for one snapshot must not make an earlier one look unneeded.
func (i Item) since() time.Time {
	if i.Time.After(i.Stored) {
		return i.Time
	}
	return i.Stored
}

// base returns the index of the newest good item that is older than the window. It returns -1 if there is none. The age is that by the clock
// of the store, so a wrong clock of the operator deletes nothing. An item whose manifest is not known counts as good: it is kept, so that its
// manifest is read next.
func (v *view) base() int {
	var newest time.Time
	for _, item := range v.items {
		if item.Stored.After(newest) {
			newest = item.Stored
		}
	}
	base := -1
	for i, item := range v.items {
		old := !item.Stored.IsZero() && newest.Sub(item.since()) >= v.policy.Window
		good := item.Verdict == Passed || item.Verdict != Failed && !v.policy.Verify && !v.policy.Tests
		if m, _ := v.manifest(i); !old || !good || m.NoQuorum {
			continue
		}
		if base < 0 || item.since().After(v.items[base].since()) {
			base = i
		}
	}
	return base
}

// Base returns the snapshot before which a continuous archive may be deleted. It returns false if nothing may be deleted.
// known must have all manifests of the series.
func (p Policy) Base(series Series, index Index, known Known) (Item, bool) {
	v := newView(series, index, known, p)
	var d Decision
	if p.Window <= 0 || v.held(&d) != "" || len(d.Need) > 0 {
		return Item{}, false
	}
	i := v.base()
	if i < 0 {
		return Item{}, false
	}
	if m, read := v.manifest(i); !read || m.NoQuorum {
		return Item{}, false
	}
	return v.items[i], true
}
