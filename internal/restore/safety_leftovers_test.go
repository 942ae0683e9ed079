package restore

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// interrupted has unfinished uploads.
type interrupted struct {
	objstore.Store
	keys    []string
	aborted []string
}

func (s *interrupted) Uploads(context.Context, string) iter.Seq2[objstore.Upload, error] {
	return func(yield func(objstore.Upload, error) bool) {
		for _, key := range s.keys {
			if !yield(objstore.Upload{Key: key}, nil) {
				return
			}
		}
	}
}

func (s *interrupted) Abort(_ context.Context, upload objstore.Upload) error {
	s.aborted = append(s.aborted, upload.Key)
	return nil
}

func TestASafetySnapshotRemovesTheInterruptedUploadsOfItsOwnKeyOnly(t *testing.T) {
	store := &interrupted{keys: []string{"safety-snapshots/one.db", "safety-snapshots/one.db.other"}}
	dropUploads(t.Context(), store, "safety-snapshots/one.db")
	if want := []string{"safety-snapshots/one.db"}; !slices.Equal(store.aborted, want) {
		t.Errorf("aborted %q, want %q", store.aborted, want)
	}
}
