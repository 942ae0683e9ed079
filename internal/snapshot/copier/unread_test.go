package copier

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/retention"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

// unreadable does not deliver the manifest of one snapshot.
type unreadable struct {
	snapshottest.Bucket
	key string
	err error
}

func (u unreadable) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if key == snapshot.ManifestKey(u.key) {
		return nil, u.err
	}
	return u.Bucket.Get(ctx, key)
}

// denied is a store that refuses some objects.
type denied struct {
	snapshottest.Bucket
	errs map[string]error
}

func (d denied) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := d.errs[key]; err != nil {
		return nil, err
	}
	return d.Bucket.Get(ctx, key)
}

// The first location has a lifecycle rule and a policy that denies some objects. One such object must not end the copy run: the second location
// would never get the older snapshots, and a disaster of the first one would lose them.
func TestAColdAndAForbiddenObjectDoNotStopTheCopiesOfOthers(t *testing.T) {
	from, to := snapshottest.NewBucket(t), snapshottest.NewBucket(t)
	cold, forbidden := objstore.Mark(errors.New("403 InvalidObjectState"), fs.ErrPermission), objstore.Mark(errors.New("403 AccessDenied"), fs.ErrPermission)
	errs, good := map[string]error{}, []string(nil)
	for minute := range 10 {
		switch key := from.Place(minute, ""); minute {
		case 4, 6, 8:
			errs[key] = cold
		case 5, 7:
			errs[key] = forbidden
		default:
			good = append(good, key)
		}
	}
	r := second(from, to)
	r.From = denied{from, errs}
	done, err := Copy(t.Context(), r)
	if !errors.Is(err, ErrSource) || !errors.Is(err, fs.ErrPermission) || !done.Tried {
		t.Errorf("tried all: %t, error %v; the run must report a snapshot that it could not read", done.Tried, err)
	}
	for _, key := range good {
		if _, there := done.Index.Find(r.keyOf(key)); !there {
			t.Errorf("Copied does not have %s", key)
		}
	}
	if committed := whole(t, r, from, to); len(committed) != len(good) {
		t.Errorf("%d snapshots were copied, want %d", len(committed), len(good))
	}
}

// If the first location does not deliver a manifest for some minutes, the second one lacks that snapshot. The status must not report that it
// has all of them.
func TestACopyFailsIfAManifestCannotBeRead(t *testing.T) {
	series := snapshot.Series{Folder: "f", Namespace: "ns", Cluster: "example", ClusterID: 1}
	older, newer := series.Key(snapshottest.Noon, 301), series.Key(snapshottest.Noon.Add(time.Minute), 302)
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
			from, to := snapshottest.NewBucket(t), snapshottest.NewBucket(t)
			for i, k := range []string{older, newer} {
				if _, err := save.Snapshot(t.Context(), snapshottest.Request(t, from, snapshottest.Database(t, snapshottest.Member, 30+i), func(r *save.Request) {
					r.Key, r.Backup, r.Time = k, "b", snapshottest.Noon.Add(time.Duration(i)*time.Minute)
				})); err != nil {
					t.Fatal(err)
				}
			}
			_, err := Copy(t.Context(), Request{
				From: unreadable{from, c.key, c.err}, To: to, FromSeries: series, ToSeries: series, Policy: retention.Policy{Owner: snapshot.Owner{Backup: "b"}, Now: snapshottest.Noon.Add(time.Hour)},
			})
			if c.fails != errors.Is(err, ErrSource) || !c.fails && err != nil {
				t.Errorf("error %v", err)
			}
			if names := strings.Join(to.Keys(), " "); !strings.Contains(names, snapshot.ManifestKey(c.copied)) {
				t.Errorf("the other snapshot was not copied: %s", names)
			}
		})
	}
}

// A lifecycle rule moves old snapshots to an archive. Those before them were never copied, and the second location was never pruned.
func TestAColdSnapshotStopsNoCopyOfAnotherOne(t *testing.T) {
	for position := range 4 {
		from, keys := snapshottest.SeriesInMemory(t, 4)
		to := objstoretest.NewMemory()
		from.Set(keys[position], objstoretest.Cold)
		r := Request{From: from, To: to, FromSeries: snapshottest.Ours, ToSeries: snapshottest.Theirs, Policy: retention.Policy{Now: snapshottest.Noon.Add(9 * time.Hour)}}
		done, err := Copy(t.Context(), r)
		if err == nil || !done.Tried {
			t.Fatalf("position %d: error %v, tried all: %v", position, err, done.Tried)
		}
		for i, key := range keys {
			if there := to.Has(snapshot.ManifestKey(r.keyOf(key))); there != (i != position) {
				t.Errorf("snapshot %d is cold: number %d was copied: %v", position, i, there)
			}
		}
	}
}
