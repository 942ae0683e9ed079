package archive_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	seedrequest "github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/seeder"
	"github.com/etcd-suite/etcd-operator/test/integration/fleet"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// promisedLoss is maxLag of the archive and one second.
const promisedLoss = time.Second + time.Second

// The place of a cluster is lost at once: all members, and backup-operator. A standby elsewhere has only the store. What a user would lose is more than maxLag and a
// second of what etcd has acknowledged, by the clock of a client.
func TestAStandbyElsewhereLosesAtMostMaxLagAndASecond(t *testing.T) {
	random := newRandom(t)
	w := newWorld(t, servers.Etcd(t, servers.EtcdOptions{Minor: "3.6", Size: 3}), 0)
	h := newHandedOver(w, fleet.Build(t, "backup-operator"), func(int, *http.Request) servers.Fault { return servers.Served })
	w.service, h.calm = h, true
	h.startAll()
	h.await("begin", h.begun)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var seeds, clients sync.WaitGroup
	seeds.Go(func() { h.seed(ctx, rand.New(rand.NewPCG(random.Uint64(), 3))) }) // a test
	writing, stop := context.WithCancel(ctx)
	acknowledged, writes := map[int64]time.Time{}, rand.New(rand.NewPCG(random.Uint64(), 4)) // a test
	clients.Go(func() {
		for writing.Err() == nil {
			limited, cancel := context.WithTimeout(writing, 2*time.Second)
			if revision, err := h.write(limited, writes); err == nil && acknowledged[revision].IsZero() {
				acknowledged[revision] = time.Now()
			}
			cancel()
		}
	})
	late := h.wait(time.Duration(3000+random.IntN(4000)) * time.Millisecond) // the loss comes at any time
	lost := time.Now()
	h.loseAll()
	stop()
	clients.Wait()
	h.file(h.Pod, seedrequest.PromoteFile, []byte(v1beta2.FollowPromoteNow))
	seeds.Wait()
	var promoted seedrequest.Promoted
	if err := json.Unmarshal([]byte(seeder.Promoted(h.Request.DataDir)), &promoted); err != nil {
		t.Fatal(err)
	}
	newest, without, longest := int64(0), 0, time.Duration(0)
	for revision, at := range acknowledged {
		newest = max(newest, revision)
		if revision > promoted.Revision {
			without++
			longest = max(longest, lost.Sub(at))
		}
	}
	t.Logf("revision %d was acknowledged, the standby has %d; %d acknowledged writes are lost, the oldest is %s older than the loss", newest, promoted.Revision, without, longest.Round(time.Millisecond))
	if longest > promisedLoss+late || len(acknowledged) < 100 {
		t.Errorf("of %d acknowledged writes, one that is %s older than the loss is lost, %s is promised, and timers were up to %s late", len(acknowledged), longest, promisedLoss, late)
	}
}

// wait waits, and returns how late a timer was at most: a machine without time for this process has none for the archive.
func (h *handedOver) wait(d time.Duration) (late time.Duration) {
	const pause = 10 * time.Millisecond
	for end := time.Now().Add(d); time.Now().Before(end); {
		began := time.Now()
		<-time.After(pause)
		late = max(late, time.Since(began)-pause)
	}
	return late
}

// loseAll kills all members and both processes of backup-operator at once.
func (h *handedOver) loseAll() {
	var all sync.WaitGroup
	for _, m := range h.cluster.Members {
		all.Go(m.Kill)
	}
	for _, p := range h.programs {
		all.Go(p.Kill)
	}
	all.Wait()
}
