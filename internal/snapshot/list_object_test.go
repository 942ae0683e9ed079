package snapshot

import (
	"context"
	"io"
	"testing"
)

// reads counts the objects that are read.
type reads struct {
	bucket
	count *int
}

func (r reads) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	*r.count++
	return r.bucket.Get(ctx, key)
}

// The key of a one-shot may be short. To delete its snapshot, the operator must not read the manifests of the whole bucket.
func TestListObjectReadsOnlyTheManifestOfTheObject(t *testing.T) {
	store := newBucket(t)
	for _, key := range []string{"e", "e2", "etcd/a"} {
		if _, err := Save(t.Context(), request(t, store, database(t, member, 3), func(r *Request) { r.Key = key })); err != nil {
			t.Fatal(err)
		}
	}
	count := 0
	listing, err := ListObject(t.Context(), reads{store, &count}, "e")
	if err != nil || len(listing.Snapshots) != 1 || listing.Snapshots[0].Key != "e" || count != 1 {
		t.Errorf("snapshots %v, %d objects were read, error %v", listing.Snapshots, count, err)
	}
}
