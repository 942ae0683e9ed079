package archive

import (
	"errors"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// 115 days of changes without a deletion were more names than the archiver held, and it could not continue the archive.
func TestAnArchiveWithMoreLinksThanAreHeldIsContinued(t *testing.T) {
	first := newHistory(1, base(1, 1)).segment(10).segment(20)
	second := newHistory(2, base(1, 1)).segment(10).segment(20).segment(30)
	store := newStoreOf([]History{first.History, second.History})
	defer func(old int) { maxNames = old }(maxNames)
	maxNames = 2
	if _, _, err := List(t.Context(), store, root); !errors.Is(err, objstore.ErrListing) {
		t.Errorf("error %v", err)
	}
	newest, found, err := Newest(t.Context(), store, root)
	if err != nil || !found || newest.Timeline != 2 || !newest.Started || len(newest.Links) != 1 || newest.Links[0].Key(root) != second.Links[2].Key {
		t.Errorf("newest %+v, found %v, error %v", newest, found, err)
	}
	if _, found, err := Newest(t.Context(), newStoreOf(nil), root); found || err != nil {
		t.Errorf("an empty archive has a timeline: %v, error %v", found, err)
	}
}
