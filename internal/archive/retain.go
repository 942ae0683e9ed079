package archive

// Outdated returns what no target after a base needs, in the order in which to delete them: what is left after
// each deletion is a complete archive. It decides by keys alone, because each link ends before the next one begins. The last
// link of a timeline is kept, because the archiver continues from it. If there are more than most, the others follow when these are deleted.
//
// starts are those of the timelines, in the same order. Nothing is deleted if the base is not surely in a timeline. A timeline that
// another EtcdBackup wrote for another cluster is kept: its window is not known here.
func Outdated(all []Names, starts []Start, b Base, most int) (outdated []Name, more bool) {
	at := timelineOf(all, starts, b)
	if at < 0 {
		return nil, false
	}
	add := func(n Name) bool {
		if len(outdated) == most {
			return false
		}
		outdated = append(outdated, n)
		return true
	}
	for i, names := range all[:at] {
		if !names.Started { // a start is written first and deleted last, so the listing omits it, and its owner is not known
			continue
		}
		if starts[i].Writer != starts[at].Writer && starts[i].ClusterID != starts[at].ClusterID {
			continue
		}
		for _, link := range names.Links {
			if !add(link) {
				return outdated, true
			}
		}
		if !add(Name{timeline: names.Timeline}) {
			return outdated, true
		}
	}
	links := all[at].Links
	for i, link := range links[:max(len(links)-1, 0)] {
		if links[i+1].first-1 > b.Point.Revision {
			break
		}
		if !add(link) {
			return outdated, true
		}
	}
	return outdated, false
}

// timelineOf returns the index of the timeline whose history has the base, or -1.
func timelineOf(all []Names, starts []Start, b Base) int {
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
