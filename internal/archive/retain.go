package archive

import "time"

// Retained is what a window needs.
type Retained struct {
	// Bases to keep: deleting one of them would make a part of the window impossible to restore.
	Bases []Base
	// Delete has the keys of objects that no target in the window needs, in the order in which to delete them: what is left
	// after each deletion is a complete archive.
	Delete []string
}

// Retain decides which objects the window that begins at cutoff needs. In each timeline that is the newest base at or before
// cutoff, with everything after it. Without such a base everything is kept. A timeline is deleted as a whole if a later one
// has a base at or before cutoff.
func Retain(histories []History, bases []Base, cutoff time.Time, root string) Retained {
	var r Retained
	covered := false // by a later timeline
	var deletions [][]string
	for i := len(histories) - 1; i >= 0; i-- {
		h := histories[i]
		spans := h.spans(bases)
		if covered {
			deletions = append(deletions, append(h.keys(), StartKey(root, h.Start.Timeline)))
			continue
		}
		pinned := -1
		for n, s := range spans {
			if !s.base.Point.At.After(cutoff) {
				pinned = n
			}
		}
		for _, s := range spans[max(pinned, 0):] {
			r.Bases = append(r.Bases, s.base)
		}
		if pinned < 0 {
			continue
		}
		covered = true
		var keys []string
		for _, l := range h.Links {
			if l.Header.Last > spans[pinned].base.Point.Revision {
				break
			}
			keys = append(keys, l.Key)
		}
		deletions = append(deletions, keys)
	}
	for i := len(deletions) - 1; i >= 0; i-- {
		r.Delete = append(r.Delete, deletions[i]...)
	}
	return r
}

func (h History) keys() []string {
	keys := make([]string, len(h.Links), len(h.Links)+1)
	for i, l := range h.Links {
		keys[i] = l.Key
	}
	return keys
}
