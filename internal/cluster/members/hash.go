package members

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// hashTimeout is how long members may take to read their whole databases.
const hashTimeout = 10 * time.Second

// observeHashes reads the hashes of the voters' data up to one revision, while a CORRUPT alarm is on. etcd accepts no writes
// then, and the alarm alone does not show which member is correct.
func (r *Questions) observeHashes(ctx context.Context, v *view.View) {
	if !v.MembershipKnown || len(state.Alarms(v.State, etcd.AlarmCorrupt)) == 0 {
		return
	}
	revision, ok := state.CommonRevision(v.State)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, hashTimeout)
	defer cancel()
	hashes := make([]string, len(v.Members)) // each goroutine reads the members
	var asking sync.WaitGroup
	for i, m := range v.Members {
		if !m.CanCompareData(v.Incarnation) {
			continue
		}
		asking.Go(panics.Caught(func() {
			connection, err := r.dial(v, m.Name)
			if err != nil {
				return // it is not known
			}
			defer connection.Close()
			if hash, compacted, err := connection.HashKV(ctx, revision); err == nil {
				hashes[i] = fmt.Sprintf("%08x at revision %d, compacted at %d", hash, revision, compacted)
			}
		}, func(error) {})) // it is not known
	}
	asking.Wait()
	for i, hash := range hashes {
		v.Members[i].Hash = hash
	}
}
