package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// electionTimeout of the members: etcd's default, and the goal for the longest gap that a client sees.
const electionTimeout = time.Second

// requestLimit is how long a request of the traffic may take with the client's own retries.
const requestLimit = 10 * time.Second

// traffic is a client that writes and reads all the while: one request after the other, each write a new key.
type traffic struct {
	n      *namespaced
	etcd   *clientv3.Client
	prefix string
	stopIt context.CancelFunc
	ended  sync.WaitGroup

	// Written by the one goroutine, read after it ended.
	acknowledged []string
	requests     int
	failures     []string
	moments      int
	failedAt     time.Time
	longest      time.Duration
}

// traffic begins now and ends with stop.
func (n *namespaced) traffic(cluster string, config *tls.Config) *traffic {
	n.Helper()
	ctx, cancel := context.WithCancel(n.Context())
	t := &traffic{n: n, etcd: n.etcd(cluster, config), prefix: fmt.Sprintf("traffic-%d-", time.Now().UnixNano()), stopIt: cancel}
	t.ended.Go(func() { t.run(ctx) })
	n.Cleanup(func() { cancel(); t.ended.Wait() })
	return t
}

// run writes and reads until ctx ends, at most a hundred pairs a second.
func (t *traffic) run(ctx context.Context) {
	pause := time.NewTicker(10 * time.Millisecond)
	defer pause.Stop()
	answered := time.Now()
	for i := 0; ctx.Err() == nil; i++ {
		key := fmt.Sprintf("%s%08d", t.prefix, i)
		written := t.request(ctx, func(ctx context.Context) error {
			_, err := t.etcd.Put(ctx, key, key)
			return err
		})
		if written {
			t.acknowledged = append(t.acknowledged, key)
		}
		read := t.request(ctx, func(ctx context.Context) error {
			response, err := t.etcd.Get(ctx, key)
			if err == nil && written && len(response.Kvs) == 0 {
				return fmt.Errorf("%s was acknowledged and is not there", key)
			}
			return err
		})
		if written && read {
			t.longest = max(t.longest, time.Since(answered))
			answered = time.Now()
		}
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
	}
	t.longest = max(t.longest, time.Since(answered))
}

func (t *traffic) request(ctx context.Context, ask func(context.Context) error) bool {
	limited, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	t.requests++
	err := ask(limited)
	if err != nil && ctx.Err() == nil {
		t.failures = append(t.failures, err.Error())
		if time.Since(t.failedAt) > electionTimeout {
			t.moments++
		}
		t.failedAt = time.Now()
	}
	return err == nil
}

// measured is what a client saw.
type measured struct {
	requests, failed int
	moments          int // in which requests failed, each an election timeout or more after the one before
	longest          time.Duration
}

// stop ends the traffic, prints what the client saw and fails the test if an acknowledged write is not there.
func (t *traffic) stop(during string) measured {
	t.n.Helper()
	t.stopIt()
	t.ended.Wait()
	t.kept(len(t.acknowledged))
	saw := measured{requests: t.requests, failed: len(t.failures), moments: t.moments, longest: t.longest.Round(time.Millisecond)}
	t.n.Logf("traffic during %s: %d requests, %d failed at %d moments, longest gap %s (goal %s)", during, saw.requests, saw.failed, saw.moments, saw.longest, electionTimeout)
	if len(t.failures) > 0 {
		t.n.Logf("failed requests: %s", strings.Join(t.failures[:min(5, len(t.failures))], "; "))
	}
	return saw
}

// kept fails the test unless the first count acknowledged writes are all there, as they were written.
func (t *traffic) kept(count int) {
	t.n.Helper()
	found := make(map[string]bool, count)
	t.n.eventuallyQuiet(func(ctx context.Context) error {
		response, err := t.etcd.Get(ctx, t.prefix, clientv3.WithPrefix())
		if err != nil {
			return err
		}
		for _, kv := range response.Kvs {
			found[string(kv.Key)] = string(kv.Value) == string(kv.Key)
		}
		return nil
	})
	lost := 0
	for _, key := range t.acknowledged[:count] {
		if !found[key] {
			lost++
		}
	}
	if lost > 0 {
		t.n.Errorf("%d of %d acknowledged writes are lost", lost, count)
	}
}

// without fails the test when requests failed that the client's own retry should have carried.
func (m measured) without(t testing.TB, tolerated int) {
	t.Helper()
	if m.failed > tolerated {
		t.Errorf("%d of %d requests failed, at most %d may", m.failed, m.requests, tolerated)
	}
}

// withoutMoreThan moments fails the test when requests failed at more: each time leadership moves etcd may refuse the
// writes that come in until it has, which says that they were not made, and which its client does not send again.
func (m measured) withoutMoreThan(t testing.TB, moments int) {
	t.Helper()
	if m.moments > moments {
		t.Errorf("%d of %d requests failed at %d moments, at most %d may be", m.failed, m.requests, m.moments, moments)
	}
}
