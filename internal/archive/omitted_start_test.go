package archive

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

type omitting struct {
	objstore.Store
	key string
}

func (o omitting) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return objstore.Matching(o.Store.List(ctx, prefix), func(x objstore.Object) bool { return x.Key != o.key })
}

// One listing omitted the start of a timeline that another EtcdBackup wrote for another cluster. Its segments were deleted, although such a
// timeline is kept until a person deletes it.
func TestAnOmittedStartDeletesNoTimelineOfAnother(t *testing.T) {
	earlier := newHistory(1, base(5, 5)).segment(8).segment(9)
	earlier.Start.Writer, earlier.Start.ClusterID = "another", "00000000000000ff"
	ours := newHistory(2, base(10, 10)).segment(20).segment(30).segment(40)
	ours.Start.Writer = "ours"
	store := storing(earlier.History, ours.History)
	for name, s := range map[string]objstore.Store{"complete listing": store, "one object omitted": omitting{store, StartKey(root, 1)}} {
		survey, err := Look(t.Context(), s, root, []Base{base(15, 15)}, 10)
		if err != nil {
			t.Fatal(err)
		}
		keys := Outdated(root, survey.Names, survey.Starts, base(25, 25))
		if slices.ContainsFunc(keys, func(k string) bool { return k == earlier.Links[0].Key }) {
			t.Errorf("%s: the segments of another EtcdBackup are deleted: %q", name, keys)
		}
		if !slices.Contains(keys, ours.Links[0].Key) {
			t.Errorf("%s: the own outdated segment is kept: %q", name, keys)
		}
	}
}
