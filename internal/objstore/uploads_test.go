package objstore

import (
	"context"
	"iter"
	"strings"
	"testing"
)

type listedUploads struct {
	Store
	Unfinished
	uploads []Upload
}

func (l listedUploads) Uploads(context.Context, string) iter.Seq2[Upload, error] {
	return func(yield func(Upload, error) bool) {
		for _, u := range l.uploads {
			if !yield(u, nil) {
				return
			}
		}
	}
}

// An operator holds a thousand uploads of a listing while it deletes their parts. A server that has one on each page may give each of them an ID of 4 MiB.
func TestAnUploadWithALongNameOrIDIsPassedOver(t *testing.T) {
	long := strings.Repeat("u", maxUpload+1)
	store := Bounded(listedUploads{uploads: []Upload{{Key: "key", ID: long}, {Key: long[:MaxName+1], ID: "id"}, {Key: long[:MaxName], ID: long[:maxUpload]}}}, DefaultLimits)
	found := 0
	for u, err := range store.(Unfinished).Uploads(Unheld(t.Context()), "") { //nolint:forcetypeassert // Bounded keeps it
		if err != nil || len(u.Key) > MaxName || len(u.ID) > maxUpload {
			t.Errorf("key of %d bytes, ID of %d bytes, error %v", len(u.Key), len(u.ID), err)
		}
		found++
	}
	if found != 1 {
		t.Errorf("%d uploads, want 1", found)
	}
}
