package snapshot

import "time"

// window keeps what a continuous archive needs to reach every revision of Policy.Window: all snapshots of that time, and the
// newest good one before it.
func (v *view) window(kept []bool) {
	if v.policy.Window <= 0 {
		return
	}
	last := v.base()
	for i := range kept {
		kept[i] = kept[i] || last < 0 || i <= last
	}
}

// base returns the index of the newest good item that is older than the window. It returns -1 if there is none. All times are
// those of the store, so a wrong clock of the operator deletes nothing.
func (v *view) base() int {
	var newest time.Time
	for _, item := range v.items {
		if item.Stored.After(newest) {
			newest = item.Stored
		}
	}
	for i, item := range v.items {
		old := !item.Stored.IsZero() && newest.Sub(item.Stored) >= v.policy.Window
		if old && item.Verdict != Failed && (item.Verdict == Passed || !v.policy.Verify && !v.policy.Tests) {
			return i
		}
	}
	return -1
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
