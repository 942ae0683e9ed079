package archiving

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/copying"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbcheck"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/etcd/watch"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// The largest change that an archive may have must fit into what one namespace may use. Otherwise it waits for ever.
func TestTheLargestChangeFitsIntoTheShareOfANamespace(t *testing.T) {
	if largeChanges.Most() < watch.Largest {
		t.Errorf("one namespace has %d MiB, and one change takes %d MiB", largeChanges.Most()>>20, watch.Largest>>20)
	}
}

// An archive stood still, and its status did not show that the memory was in use.
func TestTheStatusShowsWhyALargeChangeWaits(t *testing.T) {
	budget := turns.NewBudget(80 << 20)
	budget.Take("ns", 60<<20)
	_, err := admitChange(budget, "ns", time.Millisecond)(t.Context(), 30<<20)
	failure := classify(ofMembers(err), state.JobSpec{})
	if err == nil || failure.Reason != v1beta2.ReasonRetrying || !strings.Contains(failure.Message, "this namespace uses as much") || !strings.Contains(failure.Message, "30 MiB") {
		t.Errorf("the failure is %+v of %v", failure, err)
	}
	if budget.Used() != 60<<20 {
		t.Errorf("%d bytes are in use", budget.Used())
	}
}

// A namespace with hundreds of EtcdBackups connected to its own servers in all of them, although there were places for a few.
func TestAnArchiverWithoutAPlaceConnectsToNoMember(t *testing.T) {
	w := attempttest.NewWorld(t)
	w.Spool = spool.New(t.TempDir(), spool.Options{Limit: limits.Spool})
	a := &Archiver{turn: make(chan struct{}, 1), news: make(chan struct{}, 1), spec: *SpecOf(statetest.ArchivingState(t))}
	asked := 0
	w.Probe = func(context.Context, []string, ask.Access) []ask.Answer { asked++; return nil }
	if err := (&runner{Clients: w.Clients, spool: w.Spool, places: limits.NewPlaces(w.Spool, 0)}).once(t.Context(), a); !errors.Is(err, spool.ErrTooSmall) {
		t.Errorf("error %v, want that there is no place", err)
	}
	if asked > 0 {
		t.Errorf("the members are asked %d times", asked)
	}
}

// base is what an operator needs without any object, with the cache of a few hundred.
const base = 100 << 20

const (
	// uploading is what an attempt has that sends a body which cannot be read again, for example a copy or an encrypted snapshot: two parts for S3, which are larger than the
	// blocks for Azure and Google, and an encoder.
	uploading = 10<<20 + 4<<20
	// decoding is what a reading of a snapshot has. What a window has beyond 8 MiB counts to the memory of names.
	decoding = codec.UsualWindow + 4<<20
	// pagesOfKeys is what the large pages take that restore-operator reads or writes, and pageOfKeys what each other reading has.
	pagesOfKeys, pageOfKeys = 2 * 3 * 16 << 20, 3 * 2 << 20
	// whole is what three objects of tenants take that are decoded at the same time.
	whole = 3 * 8 << 20
)

// As many attempts as there are workers run beside them after some minutes, see docs/security.md.
const beside = 2

// Each budget fitted into the container, and all of them together did not: several tenants who used theirs at the same time ended the operator of all.
func TestTheBudgetsOfAnOperatorFitIntoItsContainer(t *testing.T) {
	content, err := os.ReadFile("../../../charts/etcd-operator/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type memory struct{ Memory string }
	type operator struct {
		Resources    struct{ Limits memory }
		Concurrency  struct{ Snapshots, Verifications int64 }
		RestoreTests memory
		Replay       memory
		Spool        struct{ SizeLimit string }
	}
	var values struct{ BackupOperator, RestoreOperator operator }
	if err := yaml.Unmarshal(content, &values); err != nil {
		t.Fatal(err)
	}
	bytes := func(text string) int64 { q := resource.MustParse(text); return q.Value() }
	b, r := values.BackupOperator, values.RestoreOperator
	left := bytes(b.Resources.Limits.Memory) - bytes(b.RestoreTests.Memory)
	archives := memoryPlaces(left)
	if places := bytes(b.Spool.SizeLimit) / limits.Share / limits.Spool; places > archives {
		t.Errorf("the spool volume has %d places for archives, and the memory suffices for %d", places, archives)
	}
	for name, test := range map[string]struct {
		left    int64
		budgets map[string]int64
	}{
		"backup-operator": {left, map[string]int64{
			"names and manifests": objstore.HeldMemory, "pages of listings": objstore.PagesMemory, "large changes": changesMemory, "copies of archives": copying.Memory, "objects of tenants": whole,
			"archives": archives * (archiveMemory + copierMemory), "what archives share": sharedMemory, "segments that are written": (usualEncodings + 1) * encodingMemory,
			"snapshots and their copies": beside * (b.Concurrency.Snapshots + queue.MaxCopies) * uploading,
		}},
		"restore-operator": {bytes(r.Resources.Limits.Memory) - bytes(r.Replay.Memory), map[string]int64{
			"names and manifests": objstore.HeldMemory, "pages of listings": objstore.PagesMemory, "objects of tenants": whole, "large pages of keys": pagesOfKeys,
			"readings": beside * r.Concurrency.Verifications * (decoding + pageOfKeys), "safety snapshots": beside * 2 * r.Concurrency.Verifications * uploading,
		}},
	} {
		sum := int64(base)
		for _, budget := range test.budgets {
			sum += budget
		}
		own := dbcheck.Own(test.left)
		t.Logf("%s keeps %d MiB, and its budgets and %d MiB are %d MiB: %v", name, own>>20, base>>20, sum>>20, test.budgets)
		if sum > own {
			t.Errorf("%s keeps %d MiB of its memory for itself, and its budgets and %d MiB are %d MiB", name, own>>20, base>>20, sum>>20)
		}
	}
}

// A tenant with archives in several namespaces wrote segments with one large revision, and the segments of all others waited until they were compressed.
func TestALargeSegmentDelaysNoUsualOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n := range 10 {
			go func() {
				if done, err := namespaceMemory(fmt.Sprint("hostile ", n)).Encode(t.Context(), 1<<30); err == nil {
					defer done()
					<-t.Context().Done()
				}
			}()
		}
		synctest.Wait()
		done, err := namespaceMemory("other").Encode(t.Context(), limits.Segment)
		if err != nil {
			t.Fatal(err)
		}
		done()
	})
}
