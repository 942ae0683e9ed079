package archive

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// failing returns an error for some objects.
type failing struct {
	*objstoretest.Memory
	errs map[string]error
}

func (f failing) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := f.errs[key]; err != nil {
		return nil, err
	}
	return f.Memory.Get(ctx, key)
}

// A store answered 500 for one segment and for nothing else. Each survey ended there, so status.recoverable, the proof and the retention of
// the whole archive stood still.
func TestOneSegmentThatTheStoreDoesNotReturnDoesNotEndASurvey(t *testing.T) {
	broken := errors.New("500 InternalError")
	bases := []Base{base(10, 10), base(30, 30)}
	h := newHistory(1, base(10, 10)).segment(20).segment(30).segment(40).segment(50)
	for name, err := range map[string]error{"it answers 500": broken, "it refuses the object": fs.ErrPermission, "it was deleted since": fs.ErrNotExist} {
		for i, link := range h.Links {
			store := failing{storing(h.History), map[string]error{link.Key: err}}
			survey, err := Look(t.Context(), store, root, bases, 10)
			if err != nil {
				t.Errorf("%s for segment %d: %v", name, i, err)
			}
			for _, hole := range survey.Holes {
				if want := store.errs[link.Key]; !errors.Is(hole.Failed, want) && !errors.Is(want, fs.ErrNotExist) {
					t.Errorf("%s for segment %d: hole %s", name, i, hole)
				}
			}
		}
		store := failing{storing(h.History), map[string]error{h.Links[3].Key: err}}
		survey, err := Look(t.Context(), store, root, bases, 10)
		if n := len(survey.Ranges); err != nil || n != 1 || survey.Ranges[n-1].To.Revision != 40 || survey.Covered != errors.Is(store.errs[h.Links[3].Key], fs.ErrNotExist) {
			t.Errorf("%s for the newest segment: ranges %v, covered %t, error %v", name, survey.Ranges, survey.Covered, err)
		}
	}
}

// A store that returns nothing fails itself. Otherwise the status would say that nothing can be restored.
func TestAStoreThatReturnsNoSegmentEndsASurvey(t *testing.T) {
	broken := errors.New("500 InternalError")
	h := newHistory(1, base(10, 10)).segment(20).segment(30)
	store := failing{storing(h.History), map[string]error{h.Links[0].Key: broken, h.Links[1].Key: broken}}
	if survey, err := Look(t.Context(), store, root, []Base{base(10, 10)}, 10); !errors.Is(err, broken) {
		t.Errorf("error %v, ranges %v", err, survey.Ranges)
	}
}
