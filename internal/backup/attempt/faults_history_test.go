package attempt_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// Objects of the first location are cold, lost or not listed for a time. Each other snapshot is copied nevertheless, and all are copied afterwards. One
// such object must not leave a user without copies of the others when a disaster comes.
func TestNoHistoryOfFaultyObjectsStopsTheCopiesOfOthers(t *testing.T) {
	faulty := 0
	for seed := range uint64(15) {
		random := rand.New(rand.NewPCG(seed, 5))
		second := objstoretest.NewMemory()
		var first *objstoretest.Faulty
		w, o := copyingTo(t, func(store objstore.Store, bucket string) objstore.Store {
			if bucket == "copies" {
				return second
			}
			if first == nil {
				first = objstoretest.NewFaulty(store)
			}
			return first
		}, statetest.Keep(6))
		first = objstoretest.NewFaulty(w.Store)
		snapshots := slices.DeleteFunc(w.Keys(), func(key string) bool { return !strings.HasSuffix(key, ".db") })
		copied := func(key string) bool { return second.Has(key) && second.Has(snapshot.ManifestKey(key)) }
		bad := map[string]bool{}
		from, few := random.IntN(5), []objstoretest.Fault{objstoretest.Cold, objstoretest.Lost, objstoretest.Omitted}[random.IntN(3)]
		for i := range 1 + random.IntN(4) { // a lifecycle rule moves several that follow each other; the newest has no fault
			key, fault := snapshots[(from+i)%5], objstoretest.Cold
			if i == 3 {
				fault = few
			}
			name := []string{key, snapshot.ManifestKey(key)}[random.IntN(2)]
			first.Set(name, fault)
			bad[key] = true
		}
		faulty += len(bad)
		w.Run(t.Context(), o, &queue.Progress{})
		for _, key := range snapshots {
			if !bad[key] && !copied(key) {
				t.Errorf("seed %d: %s has no fault, and is not copied; those with one are %v", seed, key, bad)
			}
			first.Set(key, 0)
			first.Set(snapshot.ManifestKey(key), 0)
		}
		r := w.Run(t.Context(), o, &queue.Progress{})
		for _, key := range snapshots {
			if !copied(key) {
				t.Errorf("seed %d: the faults are over, and %s is not copied: %+v", seed, key, r.Failure)
			}
		}
	}
	if faulty < 20 {
		t.Errorf("only %d snapshots had a fault: the test has too few", faulty)
	}
}

// Holds are set on snapshots and removed again, and listings omit some. After each run, what retention does not keep is deleted, unless it is locked or
// was omitted. Else a bucket with a retention period grows without an end.
func TestNoHistoryOfLockedObjectsStopsTheRetentionOfOthers(t *testing.T) {
	const kept = 2
	for seed := range uint64(10) {
		random := rand.New(rand.NewPCG(seed, 6))
		w, m := attempttest.NewWorld(t), objstoretest.NewMemory()
		w.Store = m
		for hour := range 25 {
			w.Now, m.Now = statetest.At(statetest.T0.Add(time.Duration(hour)*time.Hour)), statetest.At(statetest.T0.Add(time.Duration(hour)*time.Hour))
			fault := map[string]objstoretest.Fault{}
			for _, key := range m.Keys() {
				if _, ok := snapshot.ParseKey(key); ok {
					fault[key] = []objstoretest.Fault{0, m.Of(key), m.Of(key) | objstoretest.Locked, objstoretest.Omitted}[random.IntN(4)]
					m.Set(key, fault[key])
				}
			}
			r := w.Attempt(statetest.Series(statetest.Keep(kept)))
			if r.Failure != nil {
				t.Fatalf("seed %d: %+v", seed, r.Failure)
			}
			snapshots := slices.DeleteFunc(m.Keys(), func(key string) bool { _, ok := snapshot.ParseKey(key); return !ok })
			listed := slices.DeleteFunc(slices.Clone(snapshots), func(key string) bool { return fault[key]&objstoretest.Omitted != 0 })
			for _, key := range listed[:max(0, len(listed)-kept)] {
				if fault[key] == 0 {
					t.Fatalf("seed %d, hour %d: %s is neither kept nor locked nor omitted, and not deleted: %q", seed, hour, key, snapshots)
				}
			}
		}
	}
}
