package snapshot

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// unreadable does not deliver the manifest of one snapshot.
type unreadable struct {
	bucket
	key string
	err error
}

func (u unreadable) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if key == ManifestKey(u.key) {
		return nil, u.err
	}
	return u.bucket.Get(ctx, key)
}

// If the first location does not deliver a manifest for some minutes, the second one lacks that snapshot. The status must not report that it
// has all of them.
func TestACopyFailsIfAManifestCannotBeRead(t *testing.T) {
	series := Series{Folder: "f", Namespace: "ns", Cluster: "example", ClusterID: 1}
	older, newer := series.Key(noon, 301), series.Key(noon.Add(time.Minute), 302)
	unavailable, refused := errors.New("503 SlowDown"), objstore.Mark(errors.New("403 InvalidObjectState"), fs.ErrPermission)
	for name, c := range map[string]struct {
		key    string
		err    error
		fails  bool
		copied string
	}{
		"the store does not answer for the newest": {newer, unavailable, true, older},
		"the store does not answer for another":    {older, unavailable, true, newer},
		"access to the newest is refused":          {newer, refused, true, older},
		"access to an archived one is refused":     {older, refused, false, newer},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := newBucket(t), newBucket(t)
			for i, k := range []string{older, newer} {
				if _, err := Save(t.Context(), request(t, from, database(t, member, 30+i), func(r *Request) {
					r.Key, r.Backup, r.Time = k, "b", noon.Add(time.Duration(i)*time.Minute)
				})); err != nil {
					t.Fatal(err)
				}
			}
			_, err := Copy(t.Context(), CopyRequest{
				From: unreadable{from, c.key, c.err}, To: to, FromSeries: series, ToSeries: series, Policy: Policy{Owner: Owner{Backup: "b"}, Now: noon.Add(time.Hour)},
			})
			if c.fails != errors.Is(err, ErrCopySource) || !c.fails && err != nil {
				t.Errorf("error %v", err)
			}
			if names := strings.Join(to.keys(), " "); !strings.Contains(names, ManifestKey(c.copied)) {
				t.Errorf("the other snapshot was not copied: %s", names)
			}
		})
	}
}
