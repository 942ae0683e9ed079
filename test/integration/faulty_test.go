package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
	"github.com/etcd-suite/etcd-operator/test/integration/sweep"
)

// faultyBench opens a store twice: through a faulty proxy and directly.
type faultyBench struct {
	target string // URL of the server behind the proxy
	// location creates a bucket and returns its location.
	location func(t *testing.T) connect.Access
	// requests is the smallest number of requests of a round trip.
	requests int
	// appends is true for the emulator, which appends a repeated chunk a second time. The real store does not.
	appends bool
}

func (b faultyBench) stores(t *testing.T, patience time.Duration, choose func(int, *http.Request) servers.Fault) (faulty, direct objstore.Store, proxy *servers.Faulty) {
	t.Helper()
	l := b.location(t)
	direct = open(t, l)
	proxy = servers.NewFaulty(t, b.target, choose)
	l.Endpoint = strings.Replace(l.Endpoint, b.target, proxy.URL, 1)
	l.Patience = patience
	return open(t, l), direct, proxy
}

func TestStoresTolerateOneFaultyRequest(t *testing.T) {
	s3, gcs, azurite := servers.S3(t), servers.GCS(t), servers.Azurite(t)
	var count atomic.Int32
	for name, bench := range map[string]faultyBench{
		"S3": {s3.Endpoint, func(t *testing.T) connect.Access {
			bucket := fmt.Sprintf("bucket-%d", count.Add(1))
			s3.CreateBucket(t, bucket)
			return s3Location(s3, bucket)
		}, 12, false},
		"GCS": {"http://" + gcs.Host, func(t *testing.T) connect.Access {
			bucket := fmt.Sprintf("bucket-%d", count.Add(1))
			gcs.CreateBucket(t, bucket)
			return gcsLocation(gcs, bucket)
		}, 10, true},
		"ABS": {azurite.URL, func(t *testing.T) connect.Access {
			container := fmt.Sprintf("bucket-%d", count.Add(1))
			azurite.CreateContainer(t, container)
			return absLocation(azurite, container)
		}, 15, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("a round trip succeeds if any one of its requests breaks", func(t *testing.T) {
				var group errgroup.Group
				group.SetLimit(8) // most round trips wait for a retry
				for _, fault := range servers.Passing {
					for broken := 1; broken <= bench.requests; broken++ {
						if !sweep.Selected(fmt.Sprintf("%s: request %d %s", name, broken, fault)) {
							continue
						}
						group.Go(func() error {
							bench.breakOne(t, broken, fault)
							return nil
						})
					}
				}
				_ = group.Wait()
			})
			t.Run("every request breaks", func(t *testing.T) { bench.breakAll(t) })
		})
	}
}

// breakOne breaks one request of a round trip in a new bucket.
func (b faultyBench) breakOne(t *testing.T, broken int, fault servers.Fault) {
	var patience time.Duration // the default; a shorter one would abort requests on a loaded machine
	if silent(fault) {
		patience = 4 * time.Second
	}
	faulty, direct, proxy := b.stores(t, patience, func(n int, _ *http.Request) servers.Fault {
		if n == broken {
			return fault
		}
		return servers.Served
	})
	if err := b.roundTrip(t, faulty, direct, fault); err != nil {
		t.Errorf("the round trip failed when request %d %s: %v", broken, fault, err)
	}
	if proxy.Count(fault) == 0 {
		t.Errorf("the round trip has no request %d, so the test did not test that it %s", broken, fault)
	}
}

// roundTrip puts, gets, lists and deletes objects through faulty, and checks the result directly.
func (b faultyBench) roundTrip(t *testing.T, faulty, direct objstore.Store, fault servers.Fault) error {
	stored := map[string][]byte{}
	for key, body := range map[string]struct {
		want []byte
		size int64 // announced size, or 0
	}{"folder/small": {small, 0}, "folder/large": {large, 0}, "folder/measured": {large, int64(len(large))}} {
		want := body.want
		err := faulty.Put(t.Context(), key, rereader{bytes.NewReader(want), bytes.NewReader(want), body.size})
		if err != nil && !b.mayFail(t, direct, key, fault) {
			return err
		}
		for name, store := range map[string]objstore.Store{"through the proxy": faulty, "directly": direct} {
			got, readErr := read(t, store, key)
			if err != nil && errors.Is(readErr, fs.ErrNotExist) {
				continue
			}
			if stored[key] = want; readErr != nil || !bytes.Equal(got, want) {
				return fmt.Errorf("get %s %s: got %d bytes, expected %d, error %w", key, name, len(got), len(want), readErr)
			}
		}
	}
	var keys []string
	for object, err := range faulty.List(t.Context(), "folder/") {
		if err != nil {
			return err
		}
		keys = append(keys, object.Key)
	}
	if len(keys) != len(stored) {
		return fmt.Errorf("the list has %q, expected %d objects", keys, len(stored))
	}
	if err := faulty.Delete(t.Context(), "folder/large"); err != nil {
		return err
	}
	if _, err := read(t, direct, "folder/large"); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read a deleted object: got the error %w, expected that it does not exist", err)
	}
	return nil
}

// mayFail reports whether a Put may fail. If only its response was lost, the object must exist. If the emulator may have
// appended a chunk twice, the object must not exist.
func (b faultyBench) mayFail(t *testing.T, direct objstore.Store, key string, fault servers.Fault) bool {
	done := silent(fault) || fault == servers.LostAnswer || fault == servers.CutAnswer
	_, err := read(t, direct, key)
	return done && (err == nil || b.appends && errors.Is(err, fs.ErrNotExist))
}

func silent(fault servers.Fault) bool {
	return fault == servers.Silence || fault == servers.SilentInBody || fault == servers.SilentAnswers
}

var small, large = randomBytes(1, 1000), randomBytes(2, 8<<20+1)

// rereader is a body that a store can read again, so that it need not buffer it.
type rereader struct {
	io.Reader
	again io.ReaderAt
	size  int64
}

func (r rereader) Reread() io.ReaderAt { return r.again }
func (r rereader) Size() int64         { return r.size }

// breakAll checks the errors of a store that never responds successfully, and that no object exists afterwards.
func (b faultyBench) breakAll(t *testing.T) {
	t.Run("each request gets the response 503", func(t *testing.T) {
		t.Parallel()
		faulty, direct, proxy := b.stores(t, 0, func(int, *http.Request) servers.Fault { return servers.Unavailable })
		t.Cleanup(func() {
			body, err := direct.Get(context.WithoutCancel(t.Context()), "folder/key")
			if err == nil {
				_ = body.Close()
			}
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the failed requests stored an object: %v", err)
			}
		})
		objstoretest.RunUnreachable(t, faulty, proxy.URL)
	})
	t.Run("each request is denied", func(t *testing.T) {
		t.Parallel()
		faulty, _, _ := b.stores(t, 0, func(int, *http.Request) servers.Fault { return servers.Denied })
		objstoretest.RunDenied(t, faulty, "bucket-", "")
	})
}

func randomBytes(seed byte, size int) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

func read(t *testing.T, store objstore.Store, key string) ([]byte, error) {
	t.Helper()
	body, err := store.Get(t.Context(), key)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}
