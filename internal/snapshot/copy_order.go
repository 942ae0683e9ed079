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
	v := newView(r.ToSeries, union, Known{}, r.Policy)
	kept := map[string]bool{}
	for i, keep := range v.rules() {
		if keep || r.Policy.within(v.items[i]) {
			kept[v.items[i].Key] = true
		}
	}
	if i := slices.IndexFunc(v.items, func(i Item) bool { return i.Verdict == Passed }); i >= 0 {
		kept[v.items[i].Key] = true
	}
	wanted := slices.DeleteFunc(slices.Clone(candidates), func(i Item) bool { return !kept[r.keyOf(i.Key)] })
	return append(wanted, slices.DeleteFunc(candidates, func(i Item) bool { return kept[r.keyOf(i.Key)] })...)
}
