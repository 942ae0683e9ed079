package backup

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
)

// TestASecondLocationThatFailsDelaysNoSnapshot takes three snapshots while the second location is away, and then copies all
// that it keeps.
func TestASecondLocationThatFailsDelaysNoSnapshot(t *testing.T) {
	a := newAfterlife(t, attempttest.Steady(dbfiletest.New(t, attempttest.MemberOfDatabase).Put(10, 200).Snapshot()), statetest.Keep(2), statetest.Copies)
	a.away.Store(true)
	for range 3 {
		now := a.clock.now()
		a.live(&life{}, a.taken(now.Add(-time.Second)))
		a.clock.set(a.clock.now().Add(time.Hour))
	}
	a.live(&life{}, func() bool { c := a.backup().Status.Copies; return c != nil && c.Attempts > 1 })
	s := a.backup().Status
	condition := meta.FindStatusCondition(s.Conditions, v1beta2.ConditionCopied)
	if condition == nil || condition.Status != metav1.ConditionFalse || !strings.Contains(condition.Message, "away") || !s.Succeeded {
		t.Errorf("condition %+v, succeeded %v", condition, s.Succeeded)
	}
	a.away.Store(false)
	a.live(&life{}, func() bool { return meta.IsStatusConditionTrue(a.backup().Status.Conditions, v1beta2.ConditionCopied) })
	s = a.backup().Status
	if s.Copies.Newest == nil || !strings.HasPrefix(s.Copies.Newest.Path, "other/copies/ns/b/") || s.Copies.Newest.SHA256 != s.Snapshot.SHA256 || s.Copies.LagSeconds != 0 || s.Copies.Attempts != 0 {
		t.Errorf("copies %+v", s.Copies)
	}
	if got := len(keysIn(t, a.other)); got != 4 {
		t.Errorf("the second location has %q", keysIn(t, a.other))
	}
}

func TestAnOperatorKilledDuringACopyCopiesAllSnapshotsLaterAndDeletesBothLocations(t *testing.T) {
	db := attempttest.Steady(dbfiletest.New(t, attempttest.MemberOfDatabase).Put(10, 200).Snapshot())
	everyDeath(t, func(t *testing.T, l *life) {
		a := newAfterlife(t, db, statetest.Keep(1), statetest.Deletes, statetest.Copies)
		copied := func() bool { return meta.IsStatusConditionTrue(a.backup().Status.Conditions, v1beta2.ConditionCopied) }
		a.live(l, copied)
		if !copied() {
			a.live(&life{}, copied)
		}
		if got := keysIn(t, a.other); len(got) != 2 {
			t.Errorf("the second location has %q", got)
		}
		if err := a.api.Delete(t.Context(), a.backup()); err != nil {
			t.Fatal(err)
		}
		a.live(&life{}, func() bool { return a.backup() == nil })
		if got := append(a.objects(), keysIn(t, a.other)...); len(got) > 0 {
			t.Errorf("left %q", got)
		}
	})
}

func keysIn(t *testing.T, store objstore.Store) (keys []string) {
	t.Helper()
	for o, err := range store.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, o.Key)
	}
	return keys
}

// openSecond opens the second location of an afterlife.
func (a *afterlife) openSecond(_ context.Context, l *life) (objstore.Store, error) {
	if a.away.Load() {
		return nil, failure.New(v1beta2.ReasonStoreUnreachable, "The second location is away.")
	}
	return mortalStore{a.other, l}, nil
}

func newSecond(t *testing.T) objstore.Store {
	t.Helper()
	store, err := file.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return store
}
