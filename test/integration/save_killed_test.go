package integration

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"golang.org/x/sync/errgroup"

	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// streamed is a member that streams the same database each time, and says how large it is or 0.
type streamed struct {
	content []byte
	size    int64
}

func (s streamed) Snapshot(context.Context) (io.ReadCloser, int64, error) {
	return io.NopCloser(bytes.NewReader(s.content)), s.size, nil
}

// deaths of a process, as a store sees them: at a request that does not reach it, reaches it by half, or is done.
var deaths = []servers.Fault{servers.ResetAtOnce, servers.ResetInBody, servers.LostAnswer}

// TestASaveThatIsKilledAtAnyRequestToS3 lets no request through after one of them, neither a retry nor the removal of
// parts. The next try must succeed and leave nothing but its snapshot, also where nobody can read what was left.
func TestASaveThatIsKilledAtAnyRequestToS3(t *testing.T) {
	server := servers.S3(t)
	const member = 7
	content := dbfiletest.New(t, member).Put(100, 100<<10).Snapshot() // two parts
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	var count int
	for name, kind := range map[string]struct {
		encoder  snapshot.Encoder
		size     int64
		requests int // that a save makes, up to the last that changes anything
	}{
		"in one request":                     {snapshot.Encoder{}, int64(len(content)), 5},
		"in parts, as its size is not known": {snapshot.Encoder{}, 0, 7},
		"encrypted":                          {snapshot.Encoder{Recipients: []string{identity.Recipient().String()}}, int64(len(content)), 11},
	} {
		request := snapshot.Request{
			Source: streamed{content, kind.size}, Key: "folder/one.db", SpoolDir: t.TempDir(), Time: time.Now(), EtcdVersion: "3.7.0",
			Cluster: snapshot.Cluster{Namespace: "ns", Name: "c", ID: "0000000000000001"},
			Attempt: "uid/1", Again: true, Since: time.Now().Add(-time.Minute), MemberIDs: []uint64{member}, Encoder: kind.encoder,
		}
		t.Run(name, func(t *testing.T) {
			var group errgroup.Group
			group.SetLimit(8) // most of them wait
			for at := 1; at <= kind.requests; at++ {
				for _, death := range deaths {
					count++
					l := s3Location(server, fmt.Sprintf("bucket-%d", count))
					server.CreateBucket(t, l.Bucket)
					k := killing{t, open(t, l), request, at, death}
					ctx, kill := context.WithCancel(t.Context())
					proxy := servers.NewFaulty(t, server.Endpoint, k.choose(kill))
					l.Endpoint = proxy.URL
					mortal := open(t, l)
					group.Go(func() error {
						if err := k.live(ctx, mortal); err != nil {
							t.Errorf("killed at request %d, which %s: %v", at, death, err)
						}
						return nil
					})
				}
			}
			_ = group.Wait()
		})
	}
}

// killing is one death and what comes after it.
type killing struct {
	*testing.T
	store   objstore.Store
	request snapshot.Request
	at      int
	death   servers.Fault
}

func (k killing) choose(kill func()) func(int, *http.Request) servers.Fault {
	return func(n int, _ *http.Request) servers.Fault {
		switch {
		case n < k.at:
			return servers.Served
		case n == k.at:
			kill()
			return k.death
		}
		return servers.ResetAtOnce
	}
}

func (k killing) live(ctx context.Context, mortal objstore.Store) error {
	first := k.request
	first.Store = mortal
	if _, err := snapshot.Save(ctx, first); err == nil && k.death != servers.LostAnswer {
		return fmt.Errorf("it lived on")
	}
	if err := k.wholeOrNothing(); err != nil {
		return fmt.Errorf("after its death: %w", err)
	}
	second := k.request
	second.Store = k.store
	if _, err := snapshot.Save(k.Context(), second); err != nil {
		return fmt.Errorf("the next try: %w", err)
	}
	stale := func(key string, _ time.Time) bool { return key == k.request.Key }
	if _, err := snapshot.AbortUploads(k.Context(), k.store, k.request.Key, stale); err != nil {
		return err
	}
	return k.nothingElse()
}

// wholeOrNothing looks at what is listed.
func (k killing) wholeOrNothing() error {
	listing, err := snapshot.List(k.Context(), k.store, "")
	if err != nil {
		return err
	}
	for _, entry := range listing.Snapshots {
		got, err := read(k.T, k.store, entry.Key)
		if err != nil || int64(len(got)) != entry.Manifest.Size {
			return fmt.Errorf("%s is listed and has %d bytes of %d: %w", entry.Key, len(got), entry.Manifest.Size, err)
		}
	}
	return nil
}

func (k killing) nothingElse() error {
	if err := k.wholeOrNothing(); err != nil {
		return err
	}
	var keys []string
	for object, err := range k.store.List(k.Context(), "") {
		if err != nil {
			return err
		}
		keys = append(keys, object.Key)
	}
	if want := []string{k.request.Key, snapshot.ManifestKey(k.request.Key)}; !slices.Equal(keys, want) {
		return fmt.Errorf("the bucket holds %s", strings.Join(keys, ", "))
	}
	for upload, err := range k.store.(objstore.Unfinished).Uploads(k.Context(), "") {
		return fmt.Errorf("parts of %s are left, error %w", upload.Key, err)
	}
	return nil
}
