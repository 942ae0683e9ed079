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

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
	"github.com/etcd-suite/etcd-operator/test/integration/sweep"
)

// streamed is a member that streams the same database each time. Its size is 0 if it is unknown.
type streamed struct {
	content []byte
	size    int64
}

func (s streamed) Snapshot(context.Context) (io.ReadCloser, int64, error) {
	return io.NopCloser(bytes.NewReader(s.content)), s.size, nil
}

// killFaults are the effects of a kill on a request: the store receives nothing, half of it, or all of it.
var killFaults = []servers.Fault{servers.ResetAtOnce, servers.ResetInBody, servers.LostAnswer}

// TestSaveSucceedsAfterAKillAtAnyRequest blocks all requests after one of them, including retries and the removal of
// parts. The next attempt must succeed and leave only its snapshot, even if it cannot decrypt the leftover objects.
func TestSaveSucceedsAfterAKillAtAnyRequest(t *testing.T) {
	t.Parallel()
	server := servers.S3(t)
	const member = 7
	content := dbfiletest.New(t, member).Put(100, 100<<10).Snapshot() // two parts
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	var count int
	for name, kind := range map[string]struct {
		encoder  codec.Encoder
		size     int64
		requests int // number of a save's requests up to the last one that changes the store
	}{
		"in one request":                  {codec.Encoder{}, int64(len(content)), 5},
		"in parts if its size is unknown": {codec.Encoder{}, 0, 7},
		"encrypted":                       {codec.Encoder{Recipients: []string{identity.Recipient().String()}}, int64(len(content)), 11},
	} {
		request := save.Request{
			Source: streamed{content, kind.size}, Key: "folder/one.db", SpoolDir: t.TempDir(), Time: time.Now(), EtcdVersion: "3.7.0",
			Cluster: snapshot.Cluster{Namespace: "ns", Name: "c", ID: "0000000000000001"},
			Attempt: "uid/1", Again: true, Since: time.Now().Add(-time.Minute), MemberIDs: []uint64{member}, Encoder: kind.encoder,
		}
		t.Run(name, func(t *testing.T) {
			var group errgroup.Group
			group.SetLimit(8) // most saves wait for a retry
			for at := 1; at <= kind.requests; at++ {
				for _, fault := range killFaults {
					if !sweep.Selected(fmt.Sprintf("%s: request %d %s", name, at, fault)) {
						continue
					}
					count++
					l := s3Location(server, fmt.Sprintf("bucket-%d", count))
					server.CreateBucket(t, l.Bucket)
					k := killing{t, open(t, l), request, at, fault}
					ctx, kill := context.WithCancel(t.Context())
					proxy := servers.NewFaulty(t, server.Endpoint, k.choose(kill))
					l.Endpoint = proxy.URL
					killed := open(t, l)
					group.Go(func() error {
						if err := k.run(ctx, killed); err != nil {
							t.Errorf("killed at request %d, which %s: %v", at, fault, err)
						}
						return nil
					})
				}
			}
			_ = group.Wait()
		})
	}
}

// killing is one killed save and its repetition.
type killing struct {
	*testing.T
	store   objstore.Store
	request save.Request
	at      int
	fault   servers.Fault
}

func (k killing) choose(kill func()) func(int, *http.Request) servers.Fault {
	return func(n int, _ *http.Request) servers.Fault {
		switch {
		case n < k.at:
			return servers.Served
		case n == k.at:
			kill()
			return k.fault
		}
		return servers.ResetAtOnce
	}
}

func (k killing) run(ctx context.Context, killed objstore.Store) error {
	first := k.request
	first.Store = killed
	if _, err := save.Snapshot(ctx, first); err == nil && k.fault != servers.LostAnswer {
		return fmt.Errorf("the save succeeded, so the kill had no effect")
	}
	if err := k.listedAreComplete(); err != nil {
		return fmt.Errorf("after the kill: %w", err)
	}
	second := k.request
	second.Store = k.store
	if _, err := save.Snapshot(k.Context(), second); err != nil {
		return fmt.Errorf("the next attempt: %w", err)
	}
	stale := func(key string, _ time.Time) bool { return key == k.request.Key }
	if _, err := catalog.AbortUploads(k.Context(), k.store, k.request.Key, stale); err != nil {
		return err
	}
	return k.noLeftovers()
}

// listedAreComplete returns an error if a listed snapshot is incomplete.
func (k killing) listedAreComplete() error {
	listing, err := catalog.List(k.Context(), k.store, "")
	if err != nil {
		return err
	}
	for _, entry := range listing.Snapshots {
		got, err := read(k.T, k.store, entry.Key)
		if err != nil || int64(len(got)) != entry.Manifest.Size {
			return fmt.Errorf("the listed snapshot %s has %d bytes, expected %d: %w", entry.Key, len(got), entry.Manifest.Size, err)
		}
	}
	return nil
}

func (k killing) noLeftovers() error {
	if err := k.listedAreComplete(); err != nil {
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
		return fmt.Errorf("the bucket contains %s, expected only %s", strings.Join(keys, ", "), strings.Join(want, ", "))
	}
	for upload, err := range k.store.(objstore.Unfinished).Uploads(k.Context(), "") {
		return fmt.Errorf("an incomplete upload of %s is left over, error %w", upload.Key, err)
	}
	return nil
}
