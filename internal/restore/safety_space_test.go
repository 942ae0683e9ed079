package restore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// takes takes that much, and nil if it has to wait.
func takes(t *testing.T, of proof.Spool, size int64) (*spool.Share, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	share, err := of.Reserve(ctx, size)
	if err != nil && !errors.Is(err, spool.ErrTooSmall) && ctx.Err() == nil {
		t.Fatal(err)
	}
	return share, err
}

// takesMost takes the largest of some sizes that the spool gives to one job. A job that never fits is refused at once.
func takesMost(t *testing.T, of proof.Spool) *spool.Share {
	t.Helper()
	for size := int64(24 << 20); size > 0; size -= 128 << 10 {
		if share, err := takes(t, of, size); err == nil {
			return share
		}
	}
	return nil
}

// grows takes little, and grows as far as the spool allows: the server announces 1 KiB, and sends more.
func grows(t *testing.T, of proof.Spool) *spool.Share {
	t.Helper()
	share, err := takes(t, of, 1<<10)
	for size := int64(1 << 20); err == nil; size += 1 << 20 {
		err = share.Grow(size, 0)
	}
	return share
}

// A tenant creates one EtcdRestore of an object that its own store lists with 15 GiB, or restores a cluster whose member states such a size. The server
// sends slowly, and nothing ends the transfer for hours, or for 14 minutes. The safety snapshot of 2 GiB of another namespace found no space until its 14
// minutes had passed. That restore continued without it: what its cluster acknowledged since the last backup was in no snapshot, and was lost. MiB stand
// for the GiB of the chart's default, 24Gi.
func TestASafetySnapshotHasSpaceBesideTheLargestJobsOfAnotherNamespace(t *testing.T) {
	const mib = 1 << 20
	reading := func(s Spool) proof.Spool { return s.Of("tenant") }
	safety := func(s Spool) proof.Spool { return s.forSafety("tenant", func(error) {}) }
	for name, take := range map[string]func(*testing.T, Spool) []*spool.Share{
		"a reading":                    func(t *testing.T, s Spool) []*spool.Share { return []*spool.Share{takesMost(t, reading(s))} },
		"a reading that grows":         func(t *testing.T, s Spool) []*spool.Share { return []*spool.Share{grows(t, reading(s))} },
		"a safety snapshot":            func(t *testing.T, s Spool) []*spool.Share { return []*spool.Share{takesMost(t, safety(s))} },
		"a safety snapshot that grows": func(t *testing.T, s Spool) []*spool.Share { return []*spool.Share{grows(t, safety(s))} },
		"a reading and safety snapshots": func(t *testing.T, s Spool) []*spool.Share {
			return []*spool.Share{takesMost(t, reading(s)), grows(t, safety(s)), grows(t, safety(s))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := OpenSpool(t.TempDir(), spool.Options{Limit: 24 * mib})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				shares := take(t, s)
				used, _, _ := s.Usage()
				ctx, cancel := context.WithTimeout(t.Context(), safetyTimeout)
				defer cancel()
				share, err := s.forSafety("other", func(error) {}).Reserve(ctx, 2*mib)
				if err != nil {
					t.Errorf("the safety snapshot of 2 GiB of another namespace has no space for %s, because the tenant has %d MiB for %d MiB: %v", safetyTimeout, used/mib, 24, err)
				}
				share.Release()
				for _, share := range shares {
					share.Release()
				}
			})
		})
	}
}

// The member of a tenant stated a database of 19 GiB, and its safety snapshot waited for the end of a slow reading. The safety snapshots of all other
// namespaces waited behind it, although a part of the volume is only for them. After 14 minutes their restores continued without them, so users lost what
// their clusters acknowledged since the last backup. MiB stand for the GiB of the chart's default, 24Gi.
func TestAWaitingLargeSafetySnapshotDelaysNoSmallOneOfAnotherNamespace(t *testing.T) {
	const mib = 1 << 20
	s, err := OpenSpool(t.TempDir(), spool.Options{Limit: 24 * mib})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		// It has less than an eighth of the volume, so 64 KiB a second are enough while a safety snapshot waits. It may take an hour and 48 minutes.
		const small = 29 * mib / 10
		reading, err := s.Of("slow").Reserve(t.Context(), small)
		if err != nil {
			t.Fatal(err)
		}
		waiting, stop := context.WithCancel(t.Context())
		for range 2 { // safetiesOfOne
			go func() {
				for waiting.Err() == nil { // one EtcdRestore after the other
					ctx, cancel := context.WithTimeout(waiting, safetyTimeout)
					if share, err := s.forSafety("tenant", func(error) {}).Reserve(ctx, 19*mib); err == nil {
						share.Release()
					}
					cancel()
				}
			}()
			<-time.After(safetyTimeout / 2)
		}
		synctest.Wait()
		if s.Of("slow").Crowds() {
			t.Error("the reading would have to be faster")
		}
		for _, size := range []int64{mib, 2 * mib} {
			ctx, cancel := context.WithTimeout(t.Context(), safetyTimeout)
			share, err := s.forSafety("other", func(error) {}).Reserve(ctx, size)
			cancel()
			if err != nil {
				t.Errorf("a safety snapshot of %d GiB of another namespace has no space for %s, although only 2.9 of 24 GiB are used: %v", size/mib, safetyTimeout, err)
			}
			share.Release()
		}
		stop()
		reading.Release()
		synctest.Wait()
	})
}

// A tenant always had a safety snapshot of 4 GiB that its member sent slowly. A large reading of another namespace waited for its space. Each small reading
// of all namespaces waited behind it without end, because the safety snapshots counted as what had overtaken the large one. So no user could restore.
func TestSafetySnapshotsOfATenantStopNoSmallReadings(t *testing.T) {
	const mib = 1 << 20
	s, err := OpenSpool(t.TempDir(), spool.Options{Limit: 24 * mib})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		all, stop := context.WithCancel(t.Context())
		for first := range 2 { // safetiesOfOne
			go func() {
				for wait := time.Duration(first) * safetyTimeout / 2; ; wait = time.Second {
					select {
					case <-time.After(wait):
					case <-all.Done():
						return
					}
					share, err := s.forSafety("tenant", func(error) {}).Reserve(all, 4*mib)
					if err != nil {
						return
					}
					select {
					case <-time.After(safetyTimeout):
					case <-all.Done():
					}
					share.Release()
				}
			}()
		}
		<-time.After(safetyTimeout)
		go func() {
			if share, err := s.Of("large").Reserve(all, 166*mib/10); err == nil {
				share.Release()
			}
		}()
		<-time.After(time.Hour / 2) // for as long, the safety snapshots may overtake the large reading
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		share, err := s.Of("other").Reserve(ctx, mib>>10)
		if err != nil {
			used, _, waiting := s.Usage()
			t.Errorf("a reading of 1 MiB waited for %s: %q. %d of 24 GiB are used, and %d jobs wait", time.Since(began), s.Of("other").Why(), used/mib, waiting)
		}
		share.Release()
		stop()
		synctest.Wait()
	})
}
