package archiving

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
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

// A link that never fits would hold the copies of its archive for ever.
func TestTheLargestCopyFitsIntoTheShareOfANamespace(t *testing.T) {
	if copiedLinks.usual.Most() < usualCopy {
		t.Errorf("one namespace has %d MiB, and one link takes %d MiB", copiedLinks.usual.Most()>>20, usualCopy>>20)
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
	w.Spool = spool.New(t.TempDir(), spool.Options{Limit: archiveSpool})
	a := &Archiver{turn: make(chan struct{}, 1), news: make(chan struct{}, 1), spec: *SpecOf(statetest.ArchivingState(t))}
	asked := 0
	w.Probe = func(context.Context, []string, ask.Access) []ask.Answer { asked++; return nil }
	if err := (&runner{Clients: w.Clients, spool: w.Spool}).once(t.Context(), a); !errors.Is(err, spool.ErrTooSmall) {
		t.Errorf("error %v, want that there is no place", err)
	}
	if asked > 0 {
		t.Errorf("the members are asked %d times", asked)
	}
}

// base is what an operator needs without any object, with the cache of a few hundred.
const base = 100 << 20

// Each budget fitted into the container, and all of them together did not: several tenants who used theirs at the same time ended the operator of all.
func TestTheBudgetsOfAnOperatorFitIntoItsContainer(t *testing.T) {
	content, err := os.ReadFile("../../../charts/etcd-operator/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type memory struct{ Memory string }
	type operator struct {
		Resources    struct{ Limits memory }
		RestoreTests memory
		Replay       memory
	}
	var values struct{ BackupOperator, RestoreOperator operator }
	if err := yaml.Unmarshal(content, &values); err != nil {
		t.Fatal(err)
	}
	bytes := func(text string) int64 { q := resource.MustParse(text); return q.Value() }
	for name, test := range map[string]struct {
		limit, child string
		budgets      int64
	}{
		"backup-operator":  {values.BackupOperator.Resources.Limits.Memory, values.BackupOperator.RestoreTests.Memory, objstore.HeldMemory + changesMemory + copyMemory},
		"restore-operator": {values.RestoreOperator.Resources.Limits.Memory, values.RestoreOperator.Replay.Memory, objstore.HeldMemory},
	} {
		if own := dbcheck.Own(bytes(test.limit) - bytes(test.child)); base+test.budgets > own {
			t.Errorf("%s keeps %d MiB of its memory for itself, and its budgets and %d MiB are %d MiB", name, own>>20, base>>20, (base+test.budgets)>>20)
		}
	}
}
