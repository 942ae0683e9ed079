package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// seedTimeout is for a question that is asked at every pass while a seed is restored.
const seedTimeout = 500 * time.Millisecond

// maxProgress is more than an answer of a seed has, in bytes.
const maxProgress = 1 << 10

// observeSeed adds the progress of the seed's download and restore. If the seed does not answer, only the percentage is
// missing.
func (o *Observer) observeSeed(ctx context.Context, v *view.View) {
	if v.Restore == nil || !v.Restoring() || o.SeedPercent == nil {
		return
	}
	for i := range v.Members {
		m := &v.Members[i]
		if m.Seed == nil || m.Pod != state.PodStarting || !m.Seed.DoneAt.IsZero() || v.Addresses[m.Name] == "" {
			continue
		}
		if percent, err := o.SeedPercent(ctx, v.Addresses[m.Name]); err == nil {
			m.Seed.Percent = percent
		}
	}
}

// AskSeed is SeedPercent over plain HTTP.
func AskSeed(ctx context.Context, address string) (int32, error) {
	ctx, cancel := context.WithTimeout(ctx, seedTimeout)
	defer cancel()
	body, err := etcd.Get(ctx, net.JoinHostPort(address, strconv.Itoa(int(seed.ProgressPort))), seed.ProgressPath, maxProgress)
	if err != nil {
		return 0, fmt.Errorf("ask the seed at %s: %w", address, err)
	}
	defer func() { _ = body.Close() }()
	var said seed.Progress
	if err := json.NewDecoder(body).Decode(&said); err != nil {
		return 0, fmt.Errorf("ask the seed at %s: %w", address, err)
	}
	return min(max(said.Percent, 0), 100), nil
}
