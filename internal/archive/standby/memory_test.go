package standby

import (
	"bytes"
	"flag"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/lease"
)

var keysOfMemory = flag.Int("standby.keys", 150_000, "keys of the database whose follower is measured")

// bound is what docs/adr promises for the anonymous memory of a follower in bytes, and memoryLimit is the limit of Go that its process is started with.
const bound, memoryLimit = 64 << 20, "GOMEMLIMIT=40MiB"

// TestTheAnonymousMemoryOfAFollowerIsBounded has more keys than the index of etcd would have room for in the bound.
func TestTheAnonymousMemoryOfAFollowerIsBounded(t *testing.T) {
	s := newSource(t)
	many := func(from, n int, value []byte) (events []*mvccpb.Event) {
		for at := from; at < from+n; at += 1000 {
			revision := s.kv.Rev() + 1
			txn := s.kv.Write(traceutil.TODO())
			for i := range 1000 {
				txn.Put(fmt.Appendf(nil, "/registry/pods/%032d", (at+i)*7919%n), value, lease.LeaseID(0))
			}
			events = append(events, eventsOf(txn, revision)...)
			txn.End()
		}
		return events
	}
	n := *keysOfMemory
	many(0, n, bytes.Repeat([]byte("v"), 300))
	s.save(1)
	s.link(many(0, n/5, bytes.Repeat([]byte("w"), 100)))
	var large []*mvccpb.Event
	for i := range 6 {
		revision := s.kv.Rev() + 1
		txn := s.kv.Write(traceutil.TODO())
		txn.Put(fmt.Appendf(nil, "large-%d", i%2), bytes.Repeat([]byte("x"), 1500<<10), lease.LeaseID(0))
		large = append(large, eventsOf(txn, revision)...)
		txn.End()
	}
	s.link(large)
	revision := s.kv.Rev() + 1
	txn := s.kv.Write(traceutil.TODO())
	txn.DeleteRange([]byte("/registry/"), []byte("/registry0")) // one revision
	events := eventsOf(txn, revision)
	txn.End()
	s.compact(revision)
	s.link(events)
	o := order{Dir: filepath.Join(t.TempDir(), "standby"), Finish: filepath.Join(t.TempDir(), "delivered.db"), Anonymous: true}
	began := time.Now()
	printed, _ := s.run(o, memoryLimit)
	t.Logf("%d keys, %d changes in %s, %d MiB anonymous", n, len(large)+n/5+len(events), time.Since(began).Round(time.Millisecond), number(t, printed, "anonymous")>>20)
	if got := number(t, printed, "anonymous"); got == 0 || got > shadow*bound {
		t.Errorf("%d MiB of anonymous memory, want at most %d", got>>20, shadow*bound>>20)
	}
	s.sameKeys(o.Finish)
}
