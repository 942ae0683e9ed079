package archive_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

var (
	duration = flag.Duration("archive.duration", 6*time.Second, "how long each workload runs")
	seed     = flag.Uint64("archive.seed", 0, "seed of the random choices; 0 chooses one")
)

// The number of random targets that are restored.
const (
	revisions = 50
	times     = 20
)

func TestRandomRevisionsAndTimesAreRestoredAsTheClusterHadThem(t *testing.T) {
	for _, test := range []struct {
		minor string
		size  int
		store func(*testing.T) objstore.Store
	}{
		{"3.5", 1, inDirectory},
		{"3.6", 3, inS3},
		{"3.7", 1, inGCS},
	} {
		t.Run(fmt.Sprintf("etcd %s with %d members", test.minor, test.size), func(t *testing.T) {
			random := newRandom(t)
			w := newWorld(t, servers.Etcd(t, servers.EtcdOptions{Minor: test.minor, Size: test.size}), *duration)
			w.store = test.store(t)
			w.service = newLocal(w, random)
			w.run(random)
			b := &bench{T: t, world: w}
			b.restoreRevisions(random)
			b.restoreTimes(random)
			b.refuseLost(random)
			b.expireLeases(test.minor)
			b.refuseFaults()
		})
	}
}

func newRandom(t *testing.T) *rand.Rand {
	n := *seed
	if n == 0 {
		n = rand.Uint64() // a test
	}
	t.Logf("seed: -archive.seed=%d", n)
	return rand.New(rand.NewPCG(n, 0)) // a test
}

// bench restores targets from what a workload has left in the store.
type bench struct {
	*testing.T
	world *world
}

// restored is a restored target.
type restored struct {
	plan   plan
	path   string // of the replayed snapshot
	result replay.Result
}

// restore is what a seed will do before etcdutl's restore.
func (b *bench) restore(ctx context.Context, target archive.Target) (restored, error) {
	found, err := b.world.service.find(ctx, target)
	if err != nil {
		return restored{}, err
	}
	r := restored{plan: found, path: filepath.Join(b.TempDir(), "restored.db")}
	if err := copyFile(r.path, found.base); err != nil {
		return restored{}, err
	}
	r.result, err = replay.Replay(ctx, replay.Options{
		Path: r.path, Revision: found.Reached.Revision, Chain: found.Chain, FallbackTTL: 60,
		Identities: []byte(b.world.identity.String()), Next: found.Segments(b.world.store, b.world.root),
	})
	return r, err
}

func copyFile(to, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}

// compare restores the replayed snapshot as a seed does, and compares it with what the cluster had.
func (b *bench) compare(r restored, want record) bool {
	b.Helper()
	hash, err := dbfile.TryRestore(b.Context(), dbfile.Trial{
		SnapshotPath: r.path, DataDir: filepath.Join(b.TempDir(), "data"), Revision: want.revision, CompactRevision: want.compacted,
	})
	if err != nil {
		b.Fatalf("restore revision %d: %v", want.revision, err)
	}
	if hash.CompactRevision != want.compacted {
		return false // the base was compacted after the hash was recorded
	}
	if hash.Hash != want.hash {
		b.Errorf("revision %d has the hash %08x, but the cluster had %08x (compacted to %d; base %d, %d segments)",
			want.revision, hash.Hash, want.hash, want.compacted, r.plan.Base.Point.Revision, len(r.plan.Links))
	}
	return true
}

func (b *bench) restoreRevisions(random *rand.Rand) {
	b.Helper()
	done, replayed, fallback := 0, int64(0), 0
	records := b.world.records()
	random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	for _, want := range records {
		if done == revisions {
			break
		}
		r, err := b.restore(b.Context(), archive.Target{Revision: want.revision})
		if archive.IsRefusal(err) && b.world.lost(want.revision) {
			continue
		}
		if err != nil {
			b.Fatalf("restore revision %d: %v", want.revision, err)
		}
		if r.result.Revision != want.revision {
			b.Errorf("revision %d was restored, want %d", r.result.Revision, want.revision)
		}
		if b.compare(r, want) {
			done++
			replayed += r.result.Events
			fallback += r.result.Fallback
		}
	}
	if done < revisions || replayed == 0 {
		b.Errorf("%d revisions of %d were compared, with %d replayed events, want %d", done, len(records), replayed, revisions)
	}
	b.Logf("%d revisions are as they were, %d events replayed, %d leases with the fallback TTL", done, replayed, fallback)
}

func (b *bench) restoreTimes(random *rand.Rand) {
	b.Helper()
	known := map[int64]record{}
	for _, r := range b.world.records() {
		known[r.revision] = r
	}
	done, worst, late := 0, time.Duration(0), time.Duration(0)
	span := b.world.ended.Sub(b.world.began)
	for try := 0; done < times && try < 20*times; try++ {
		at := b.world.began.Add(time.Duration(random.Int64N(int64(span))))
		r, err := b.restore(b.Context(), archive.Target{Time: at})
		if archive.IsRefusal(err) {
			continue
		}
		if err != nil {
			b.Fatalf("restore %s: %v", at, err)
		}
		want, ok := known[r.plan.Reached.Revision]
		if !ok {
			continue
		}
		if want.asked.After(at) {
			b.Errorf("%s is restored as revision %d, which a client wrote later, at %s", at, want.revision, want.asked)
		}
		if b.compare(r, want) {
			done++
			worst = max(worst, r.plan.Resolution)
			late = max(late, b.missing(at.Add(-r.plan.Resolution), r.plan.Reached.Revision))
		}
	}
	if done < times {
		b.Errorf("%d times were compared, want %d", done, times)
	}
	b.Logf("%d times are as they were, with a resolution of at most %s; a missing write was acknowledged at most %s before it", done, worst, late)
}

// missing returns how long before a time the oldest write was acknowledged that is not in the restored revision.
func (b *bench) missing(at time.Time, restored int64) time.Duration {
	for _, r := range b.world.records() {
		if r.revision > restored {
			return max(0, at.Sub(r.acked))
		}
	}
	return 0
}

// refuseLost checks that a revision in a gap is refused, with what can be restored instead.
func (b *bench) refuseLost(random *rand.Rand) {
	b.Helper()
	gaps := b.world.gaps()
	if len(gaps) == 0 {
		b.Error("the workload has made no gap")
	}
	for _, gap := range gaps {
		target := gap.First + random.Int64N(max(1, gap.Last-gap.First))
		r, err := b.restore(b.Context(), archive.Target{Revision: target})
		if err == nil && r.plan.Base.Point.Revision == target {
			continue // a base is always restorable
		}
		var refusal *archive.Refusal
		if !errors.As(err, &refusal) || refusal.After == nil {
			b.Errorf("revision %d in the gap from %d to %d: got %v, want a refusal", target, gap.First, gap.Last, err)
			continue
		}
		b.Logf("refused: %v", err)
	}
}
