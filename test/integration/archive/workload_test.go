package archive_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-suite/etcd-operator/internal/archive"
)

// enough are the revisions that a workload records at least, however slow the machine is.
const enough = 3 * revisions

// workload writes at random for the given time, and records the hash of most revisions. A revision was written after the
// request before it: its own request may have failed at first, or may have changed nothing.
func (w *world) workload(ctx context.Context, random *rand.Rand) {
	began, gap := time.Now(), false
	newest, since := int64(0), began
	for ctx.Err() == nil && (time.Since(began) < w.duration || len(w.records()) < enough || !gap || !w.service.tested()) {
		asked := time.Now()
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		revision, err := w.write(limited, random)
		cancel()
		acked := time.Now()
		if err != nil || revision == 0 {
			continue // a member was killed
		}
		if revision > newest {
			w.record(ctx, revision, since, acked)
		}
		newest, since = revision, asked
		switch {
		case !gap && time.Since(began) > w.duration/2 && len(w.records()) > enough/2 && w.service.stored() > enough/2:
			gap = w.lose(ctx, random)
		case random.IntN(150) == 0:
			w.compact(ctx, w.service.stored()-random.Int64N(100))
		}
	}
}

// lose compacts revisions while no archiver runs, so that they are lost.
func (w *world) lose(ctx context.Context, random *rand.Rand) bool {
	defer w.service.pause()()
	last := int64(0)
	for n := 0; n < 20 && ctx.Err() == nil; {
		if revision, err := w.write(ctx, random); err == nil && revision > 0 {
			last = revision
			n++
		}
	}
	return w.compact(ctx, last)
}

func (w *world) compact(ctx context.Context, revision int64) bool {
	if revision < 2 {
		return false
	}
	_, err := w.client.Compact(ctx, revision)
	return err == nil
}

// write makes one request and returns the revision after it.
func (w *world) write(ctx context.Context, random *rand.Rand) (int64, error) {
	key := func() string { return fmt.Sprintf("/%c/%02d", 'a'+random.IntN(5), random.IntN(40)) }
	value := func() string { return strings.Repeat(string(rune('a'+random.IntN(26))), random.IntN(600)) }
	switch random.IntN(12) {
	case 0:
		response, err := w.client.Delete(ctx, key())
		return answer(response, err)
	case 1:
		response, err := w.client.Delete(ctx, fmt.Sprintf("/%c/%d", 'a'+random.IntN(5), random.IntN(4)), clientv3.WithPrefix())
		return answer(response, err)
	case 2, 3:
		return w.transaction(ctx, random, key, value)
	case 4:
		grant, err := w.client.Grant(ctx, 1+random.Int64N(2))
		if err != nil {
			return 0, err
		}
		response, err := w.client.Put(ctx, key(), value(), clientv3.WithLease(grant.ID))
		if err == nil && random.IntN(3) == 0 {
			_, err = w.client.Put(ctx, key(), value(), clientv3.WithLease(grant.ID))
		}
		return answer(response, err)
	case 5:
		response, err := w.client.Put(ctx, key(), "", clientv3.WithIgnoreValue())
		return answer(response, err)
	case 6:
		if random.IntN(10) == 0 { // more than the bound of a segment
			response, err := w.client.Put(ctx, key(), strings.Repeat("large", 30_000))
			return answer(response, err)
		}
	}
	response, err := w.client.Put(ctx, key(), value())
	return answer(response, err)
}

func (w *world) transaction(ctx context.Context, random *rand.Rand, key, value func() string) (int64, error) {
	size := 8
	if random.IntN(20) == 0 {
		size = 100 // etcd allows 128 operations
	}
	operations := map[string]clientv3.Op{}
	for range 2 + random.IntN(size) {
		k := key()
		operations[k] = clientv3.OpPut(k, value())
		if random.IntN(4) == 0 {
			operations[k] = clientv3.OpDelete(k)
		}
	}
	ops := []clientv3.Op{clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpPut("/nested/"+key(), value())}, nil)}
	for _, k := range slices.Sorted(maps.Keys(operations)) {
		ops = append(ops, operations[k])
	}
	response, err := w.client.Txn(ctx).Then(ops...).Commit()
	if err != nil {
		return 0, err
	}
	return response.Header.Revision, nil
}

func answer[T interface {
	*clientv3.PutResponse | *clientv3.DeleteResponse
}](response T, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	switch r := any(response).(type) {
	case *clientv3.PutResponse:
		return r.Header.Revision, nil
	case *clientv3.DeleteResponse:
		return r.Header.Revision, nil
	}
	return 0, nil
}

// record asks a member for the hash at a revision.
func (w *world) record(ctx context.Context, revision int64, asked, acked time.Time) {
	w.mu.Lock()
	_, known := w.recs[revision]
	w.mu.Unlock()
	if known {
		return
	}
	limited, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for _, endpoint := range w.cluster.Endpoints() {
		response, err := w.client.HashKV(limited, endpoint, revision)
		if err != nil || response.Header.Revision < revision {
			continue
		}
		w.mu.Lock()
		w.recs[revision] = record{revision: revision, compacted: response.CompactRevision, hash: response.Hash, asked: asked, acked: acked}
		w.mu.Unlock()
		return
	}
}

// records returns what was recorded, in ascending order.
func (w *world) records() []record {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.SortedFunc(maps.Values(w.recs), func(a, b record) int { return cmp.Compare(a.revision, b.revision) })
}

// killMembers kills one member at a time and starts it again.
func (w *world) killMembers(ctx context.Context, random *rand.Rand) {
	for {
		select {
		case <-time.After(time.Duration(2000+random.IntN(3000)) * time.Millisecond):
		case <-ctx.Done():
			return
		}
		member := w.cluster.Members[random.IntN(len(w.cluster.Members))]
		member.Kill()
		member.Start()
		member.AwaitHealthy()
	}
}

// gaps returns the links in which events are lost.
func (w *world) gaps() []archive.Header {
	w.t.Helper()
	histories, err := archive.Read(w.t.Context(), w.store, w.root)
	if err != nil {
		w.t.Fatal(err)
	}
	var gaps []archive.Header
	for _, h := range histories {
		for _, l := range h.Links {
			if l.Header.Gap() {
				gaps = append(gaps, l.Header)
			}
		}
	}
	return gaps
}

// lost reports whether a revision is one that the workload has made impossible to archive.
func (w *world) lost(revision int64) bool {
	for _, gap := range w.gaps() {
		if gap.First <= revision && revision < gap.Last {
			return true
		}
	}
	return false
}
