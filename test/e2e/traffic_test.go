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

// electionTimeout is etcd's default, and the goal for the longest time without a response.
const electionTimeout = time.Second

const (
	// requestLimit is how long a request may take, including the client's own retries. A slower one counts as failed.
	requestLimit = 10 * time.Second
	// requestTimeout is when the client gives up a request. gRPC needs 12 s to notice that a connected member hangs: it pings after 10 s at
	// the earliest, and stack.Etcd sets 2 s for the answer. A client that gives up before that sends its next request to the same member.
	requestTimeout = 15 * time.Second
)

// traffic is a client that writes and reads during a test, one request at a time. Each write has a new key.
type traffic struct {
	n      *namespaced
	etcd   *clientv3.Client
	prefix string
	stopIt context.CancelFunc
	ended  sync.WaitGroup

	// One goroutine writes these fields; they are read after it ended.
	acknowledged []acknowledgement
	requests     int
	failures     []string
	outages      int
	failedAt     time.Time
	longest      time.Duration
}

// acknowledgement is a write that etcd has acknowledged.
type acknowledgement struct {
	key      string
	at       time.Time
	revision int64
}

// traffic starts the traffic, which ends with stop.
func (n *namespaced) traffic(cluster string, config *tls.Config) *traffic {
	n.Helper()
	return n.trafficOf(n.etcd(cluster, config))
}

// trafficOf starts the traffic of a client.
func (n *namespaced) trafficOf(etcd *clientv3.Client) *traffic {
	n.Helper()
	ctx, cancel := context.WithCancel(n.Context())
	t := &traffic{n: n, etcd: etcd, prefix: fmt.Sprintf("traffic-%d-", time.Now().UnixNano()), stopIt: cancel}
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
			response, err := t.etcd.Put(ctx, key, key)
			if err == nil {
				t.acknowledged = append(t.acknowledged, acknowledgement{key, time.Now(), response.Header.Revision})
			}
			return err
		})
		read := t.request(ctx, func(ctx context.Context) error {
			response, err := t.etcd.Get(ctx, key)
			if err == nil && written && len(response.Kvs) == 0 {
				return fmt.Errorf("etcd acknowledged %s, but does not return it", key)
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
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	t.requests++
	began := time.Now()
	err := ask(limited)
	if took := time.Since(began); err == nil && took > requestLimit {
		err = fmt.Errorf("it took %s", took.Round(time.Millisecond))
	}
	if err != nil && ctx.Err() == nil {
		t.failures = append(t.failures, err.Error())
		if time.Since(t.failedAt) > electionTimeout {
			t.outages++
		}
		t.failedAt = time.Now()
	}
	return err == nil
}

// measured is what the client measured.
type measured struct {
	requests, failed int
	outages          int // failures less than an election timeout apart count as one outage
	longest          time.Duration
	refused          []string // failed requests that TLS refused
}

// stop ends the traffic and logs what the client measured. It fails the test if an acknowledged write is lost.
func (t *traffic) stop(during string) measured {
	t.n.Helper()
	t.end()
	t.kept(len(t.acknowledged))
	saw := measured{requests: t.requests, failed: len(t.failures), outages: t.outages, longest: t.longest.Round(time.Millisecond)}
	for _, failure := range t.failures {
		if strings.Contains(failure, "tls:") || strings.Contains(failure, "certificate") || strings.Contains(failure, "handshake") {
			saw.refused = append(saw.refused, failure)
		}
	}
	t.n.Logf("traffic during %s: %d requests, %d failed in %d outages, longest gap %s (goal %s)", during, saw.requests, saw.failed, saw.outages, saw.longest, electionTimeout)
	if len(t.failures) > 0 {
		t.n.Logf("failed requests: %s", strings.Join(t.failures[:min(5, len(t.failures))], "; "))
	}
	return saw
}

// end ends the traffic.
func (t *traffic) end() {
	t.stopIt()
	t.ended.Wait()
}

// kept fails the test unless the first count acknowledged writes exist with their values.
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
	for _, written := range t.acknowledged[:count] {
		if !found[written.key] {
			lost++
		}
	}
	if lost > 0 {
		t.n.Errorf("%d of %d acknowledged writes are lost", lost, count)
	}
}

// failuresAtMost fails the test if more requests failed than tolerated. The client's own retries should hide the rest.
func (m measured) failuresAtMost(t testing.TB, tolerated int) {
	t.Helper()
	if m.failed > tolerated {
		t.Errorf("%d of %d requests failed, the limit is %d", m.failed, m.requests, tolerated)
	}
}

// noneRefused fails the test if TLS refused a request.
func (m measured) noneRefused(t testing.TB) {
	t.Helper()
	if len(m.refused) > 0 {
		t.Errorf("TLS refused %d of %d requests, such as: %s", len(m.refused), m.requests, m.refused[0])
	}
}

// quiet fails the test if TLS refused a request, or if there was more than one outage. On a loaded machine etcd may elect another leader at
// any time, and then it refuses writes for a moment. Nothing that the operator does here causes an outage.
func (m measured) quiet(t testing.TB) {
	t.Helper()
	m.noneRefused(t)
	m.outagesAtMost(t, 1)
}

// outagesAtMost fails the test if there were more outages. While the leadership moves, etcd may refuse writes without
// applying them, and its client does not retry them.
func (m measured) outagesAtMost(t testing.TB, outages int) {
	t.Helper()
	if m.outages > outages {
		t.Errorf("%d of %d requests failed in %d outages, the limit is %d outages", m.failed, m.requests, m.outages, outages)
	}
}
