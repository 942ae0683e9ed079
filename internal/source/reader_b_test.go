package source

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// sick answers 503 for one key.
type sick struct {
	objstore.Store
	key string
}

func (s sick) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if key == s.key {
		return nil, errors.New("503 Slow Down")
	}
	return s.Store.Get(ctx, key)
}

// A restore that is tried again loses nothing. A restore of older data does.
func TestFindPassesOverNoSnapshotForAFaultOfTheStore(t *testing.T) {
	s := newShelf(t)
	older, newest := s.saved("a", 1, 1), s.saved("a", 1, 49)
	store, err := file.Open(s.bucket)
	if err != nil {
		t.Fatal(err)
	}
	key, why, err := choose(t.Context(), sick{store, snapshot.ManifestKey(newest)}, v1beta2.RestoreSource{Bucket: s.bucket, Key: "daily/"}, Choice{Folder: true}, time.Now())
	if err == nil && key == older {
		t.Errorf("two days of data are given up, because %s", why)
	}
}

// A manifest without CapturedAt, of an earlier version or of an upload whose answer was lost.
func TestBeforeTakesNoSnapshotThatMayHoldLaterWrites(t *testing.T) {
	s := newShelf(t)
	s.saved("a", 1, 1)
	unknown := s.saved("a", 1, 2) // begun at 2:00, captured at a time that nobody knows
	key, why, err := s.find(Choice{Before: dawn.Add(2*time.Hour + time.Minute).Format(time.RFC3339)})
	if err == nil && key == unknown {
		t.Errorf("restored although it may hold writes after select.before, because %s", why)
	}
}
