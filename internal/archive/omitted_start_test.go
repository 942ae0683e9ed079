package archive

import (
	"context"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// One listing omitted the start of a timeline that another EtcdBackup wrote for another cluster. Its segments were deleted, although such a
// timeline is kept until a person deletes it.
func TestAnOmittedStartDeletesNoTimelineOfAnother(t *testing.T) {
	earlier := newHistory(1, base(5, 5)).segment(8).segment(9)
	earlier.Start.Writer, earlier.Start.ClusterID = "another", "00000000000000ff"
	ours := newHistory(2, base(10, 10)).segment(20).segment(30).segment(40)
	ours.Start.Writer = "ours"
	store := storing(earlier.History, ours.History)
	for name, s := range map[string]objstore.Store{"complete listing": store, "one object omitted": with(store, objstoretest.Omitted, StartKey(root, 1))} {
		survey, err := Look(t.Context(), s, root, []Base{base(15, 15)}, 10)
		if err != nil {
			t.Fatal(err)
		}
		keys := outdatedKeys(survey.Names, survey.Starts, base(25, 25))
		if slices.ContainsFunc(keys, func(k string) bool { return k == earlier.Links[0].Key }) {
			t.Errorf("%s: the segments of another EtcdBackup are deleted: %q", name, keys)
		}
		if !slices.Contains(keys, ours.Links[0].Key) {
			t.Errorf("%s: the own outdated segment is kept: %q", name, keys)
		}
	}
}

// One listing omitted the start of the newest timeline, or all of it. The status said that nothing of it can be restored, and the archiver stopped
// with the reason ArchiveCorrupt.
func TestAnOmittedStartLeavesTheWindowAsItIs(t *testing.T) {
	first := newHistory(1, base(5, 5)).segment(8).segment(9)
	second := newHistory(2, base(10, 10)).segment(20).segment(30)
	store := storing(first.History, second.History)
	bases := []Base{base(5, 5), base(10, 10), base(15, 15)}
	want, err := Look(t.Context(), store, root, bases, 10)
	if err != nil || len(want.Ranges) != 2 {
		t.Fatalf("%+v, %v", want.Ranges, err)
	}
	for _, omitted := range []Timeline{1, 2} {
		survey, err := Look(t.Context(), with(store, objstoretest.Omitted, StartKey(root, omitted)), root, bases, 10)
		if err != nil || len(survey.Startless) > 0 || !reflect.DeepEqual(survey.Ranges, want.Ranges) {
			t.Errorf("a listing omits the start of timeline %d: startless are %v, ranges %+v, %v", omitted, survey.Startless, survey.Ranges, err)
		}
	}
	whole := with(store, objstoretest.Omitted, StartKey(root, 2), second.Links[0].Key, second.Links[1].Key)
	survey, err := Look(t.Context(), whole, root, bases, 10)
	if n := len(survey.Names); err != nil || n != 2 || survey.Names[n-1].Timeline != 2 {
		t.Errorf("a listing omits timeline 2: %+v, %v", survey.Names, err)
	}
	key := StartKey(root, 2)
	// What a name stands for and the store does not return is never taken for deleted. Its segments are the name here.
	survey, err = Look(t.Context(), with(store, objstoretest.Omitted|objstoretest.Lost, key), root, bases, 10)
	if err != nil || len(survey.Startless) > 0 || len(survey.Unreadable) != 1 {
		t.Errorf("the store fails for the start: startless are %v, unreadable %v, %v", survey.Startless, survey.Unreadable, err)
	}
	store.Set(key, objstoretest.Gone)
	if survey, err := Look(t.Context(), store, root, bases, 10); err != nil || !slices.Equal(survey.Startless, []Timeline{2}) {
		t.Errorf("the start was deleted: startless are %v, %v", survey.Startless, err)
	}
}

// returning is a store that returns something for each key.
type returning struct{ objstore.Store }

func (returning) Get(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("x")), nil
}

// A store of a user said that each timeline exists. The operator asked for the next one without an end, and held all of them.
func TestAStoreThatHasEachTimelineEndsTheQuestion(t *testing.T) {
	store := returning{storing(newHistory(1, base(5, 5)).segment(8).History)}
	if _, _, err := NewestOf(t.Context(), store, root); err == nil || !strings.Contains(err.Error(), "more than 64 timelines") {
		t.Errorf("error %v", err)
	}
}
