package snapshot

import "slices"

// keptFirst puts those snapshots first that the rules of the second location keep as far as names tell. The others are read only up to foreignBatch,
// because one of them is kept only if a manifest cannot be used. They would hide older ones in each run.
func (r CopyRequest) keptFirst(to Index, candidates []Item) []Item {
	if r.Policy.keepsAll() {
		return candidates
	}
	union := Index{Items: slices.Clone(to.Items)}
	for _, item := range candidates {
		item.Key, item.Series = r.keyOf(item.Key), r.ToSeries
		union.Items = append(union.Items, item)
	}
	kept := r.Policy.keptByNames(r.ToSeries, union)
	wanted := slices.DeleteFunc(slices.Clone(candidates), func(i Item) bool { return !kept[r.keyOf(i.Key)] })
	return append(wanted, slices.DeleteFunc(candidates, func(i Item) bool { return kept[r.keyOf(i.Key)] })...)
}
