package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/bounded"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// seedTimeout is for a question that is asked at every pass while a seed is restored.
const seedTimeout = 500 * time.Millisecond

// observeSeed adds the progress of the seed's download and restore. If the seed does not answer, only the percentage is
// missing.
func (o *Observer) observeSeed(ctx context.Context, v *view.View) {
	if v.Restore == nil || !v.Restoring() || o.SeedProgress == nil {
		return
	}
	for i := range v.Members {
		m := &v.Members[i]
		if m.Seed == nil || m.Pod != state.PodStarting || !m.Seed.DoneAt.IsZero() || v.Addresses[m.Name] == "" {
			continue
		}
		if said, err := o.SeedProgress(ctx, v.Addresses[m.Name]); err == nil {
			m.Seed.Percent, m.Seed.Following = min(max(said.Percent, 0), 100), followingOf(said.Following)
			m.Seed.Authentication = said.Following != nil && said.Following.Authentication
		}
	}
}

// followingOf returns what a standby says of itself, within the limits of a status.
func followingOf(said *seed.Following) *v1beta2.FollowStatus {
	if said == nil {
		return nil
	}
	f := &v1beta2.FollowStatus{
		Timeline: said.Timeline, Revision: said.Revision, LagSeconds: ptr.To(said.LagSeconds),
		Cause: bounded.Word(said.Cause), Message: planning.Shorten(said.Message, seed.MaxMessage),
	}
	if !said.Time.IsZero() && bounded.Time(said.Time) {
		f.Time = ptr.To(metav1.NewTime(said.Time).Rfc3339Copy())
	}
	return f
}

// AskSeed is SeedProgress over plain HTTP.
func AskSeed(ctx context.Context, address string) (said seed.Progress, err error) {
	ctx, cancel := context.WithTimeout(ctx, seedTimeout)
	defer cancel()
	body, err := etcd.Get(ctx, net.JoinHostPort(address, strconv.Itoa(int(seed.ProgressPort))), seed.ProgressPath, seed.MaxProgress)
	if err != nil {
		return said, fmt.Errorf("ask the seed at %s: %w", address, err)
	}
	defer func() { _ = body.Close() }()
	if err := json.NewDecoder(body).Decode(&said); err != nil {
		return seed.Progress{}, fmt.Errorf("ask the seed at %s: %w", address, err)
	}
	return said, nil
}
