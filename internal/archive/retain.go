package archive

import (
	"context"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Outdated returns what no target after a base needs, in the order in which to delete them: what is left after
// each deletion is a complete archive. It decides by keys alone, because each link ends before the next one begins. The last
// link of a timeline is kept, because the archiver continues from it. If there are more than most, the others follow when these are deleted.
//
// starts are those of the timelines, in the same order. Nothing is deleted if the base is not surely in a timeline. A timeline that
// another EtcdBackup wrote for another cluster is kept: its window is not known here.
func Outdated(all []Names, starts []Start, b Base, most int) (outdated []Name, more bool) {
	held := func(t Timeline, needed func(Name) bool, most int) ([]Name, bool, error) {
		at := slices.IndexFunc(all, func(n Names) bool { return n.Timeline == t })
		links := slices.DeleteFunc(slices.Clone(all[at].Links), func(n Name) bool { return !needed(n) })
		return links[:min(len(links), most)], len(links) > most, nil
	}
	outdated, more, _ = outdatedOf(all, starts, b, most, held) // it cannot fail
	return outdated, more
}

// Outdated is Outdated for the archive of a survey. If the survey omits links, these are the oldest ones, so it lists them first.
func (s Survey) Outdated(ctx context.Context, store objstore.Store, root string, b Base, most int) (outdated []Name, more bool, err error) {
	if s.Omitted() == 0 {
		outdated, more = Outdated(s.Names, s.Starts, b, most)
		return outdated, more, nil
	}
	return outdatedOf(s.Names, s.Starts, b, most, func(t Timeline, wanted func(Name) bool, most int) ([]Name, bool, error) {
		return Oldest(ctx, store, root, t, most, wanted)
	})
}

// outdatedOf is Outdated. oldest returns the oldest links of a timeline, like Oldest.
func outdatedOf(all []Names, starts []Start, b Base, most int, oldest func(t Timeline, wanted func(Name) bool, most int) ([]Name, bool, error)) (outdated []Name, more bool, err error) {
	at := TimelineOf(all, starts, b)
	if at < 0 {
		return nil, false, nil
	}
	whole := func(Name) bool { return true }
	for i, names := range all[:at] {
		if !names.Started { // a start is written first and deleted last, so the listing omits it, and its owner is not known
			continue
		}
		if starts[i].Writer != starts[at].Writer && starts[i].ClusterID != starts[at].ClusterID {
			continue
		}
		links, more, err := oldest(names.Timeline, whole, most-len(outdated))
		if outdated = append(outdated, links...); err != nil || more || len(outdated) == most {
			return outdated, true, err
		}
		outdated = append(outdated, Name{timeline: names.Timeline})
	}
	// A link is outdated if the next one does not begin after the base and 1.
	links, more, err := oldest(all[at].Timeline, func(n Name) bool { return n.first <= b.Point.Revision+1 }, most-len(outdated)+1)
	if len(links) == 0 || err != nil {
		return outdated, false, err
	}
	if !more {
		links = links[:len(links)-1]
	}
	fits := min(len(links), most-len(outdated))
	return append(outdated, links[:fits]...), more || fits < len(links), nil
}

// TimelineOf returns the index of the timeline whose history has the base, or -1.
func TimelineOf(all []Names, starts []Start, b Base) int {
	for i := len(all) - 1; i >= 0; i-- {
		switch {
		case starts[i].has(b):
		case b.Recovery == "" && starts[i].mayHave(b):
			return -1 // it is of this timeline, or of one before the recovery
		default:
			continue
		}
		links := all[i].Links
		within := len(links) > 0 && b.Point.Revision < links[len(links)-1].first
		if within || b.Point.Revision == starts[i].Base.Revision {
			return i
		}
		return -1
	}
	return -1
}
