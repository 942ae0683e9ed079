package archive

// Outdated returns the keys that no target after a base needs, in the order in which to delete them: what is left after
// each deletion is a complete archive. It decides by keys alone, because each link ends before the next one begins. The last
// link of a timeline is kept, because the archiver continues from it.
//
// starts are those of the timelines, in the same order. Nothing is deleted if the base is not surely in a timeline. A timeline that
// another EtcdBackup wrote for another cluster is kept: its window is not known here.
func Outdated(root string, all []Names, starts []Start, b Base) []string {
	at := timelineOf(root, all, starts, b)
	if at < 0 {
		return nil
	}
	var keys []string
	for i, names := range all[:at] {
		if !names.Started { // a start is written first and deleted last, so the listing omits it, and its owner is not known
			continue
		}
		if starts[i].Writer != starts[at].Writer && starts[i].ClusterID != starts[at].ClusterID {
			continue
		}
		keys = append(append(keys, names.Links...), StartKey(root, names.Timeline))
	}
	for i, key := range all[at].Links {
		if i+1 == len(all[at].Links) || firstOf(root, all[at].Links[i+1])-1 > b.Point.Revision {
			break
		}
		keys = append(keys, key)
	}
	return keys
}

// timelineOf returns the index of the timeline whose history has the base, or -1.
func timelineOf(root string, all []Names, starts []Start, b Base) int {
	for i := len(all) - 1; i >= 0; i-- {
		switch {
		case starts[i].has(b):
		case b.Recovery == "" && starts[i].mayHave(b):
			return -1 // it is of this timeline, or of one before the recovery
		default:
			continue
		}
		links := all[i].Links
		within := len(links) > 0 && b.Point.Revision < firstOf(root, links[len(links)-1])
		if within || b.Point.Revision == starts[i].Base.Revision {
			return i
		}
		return -1
	}
	return -1
}

func firstOf(root, key string) int64 {
	n, _ := parseKey(root, key)
	return n.first
}
