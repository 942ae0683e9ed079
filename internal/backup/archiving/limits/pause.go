package limits

import (
	"context"
	"errors"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
)

const (
	firstDelay       = time.Second
	lastDelay        = time.Minute
	firstMemberDelay = 200 * time.Millisecond
	membersDelay     = 5 * time.Second
	storeDelay       = 10 * time.Second
)

// Delay is the pause after that many failures in a row: 1 s, or 200 ms after the first failure of a member that others replace, doubled after each one, at most 1 min. If the members are why, it is
// at most maxLag or 5 s, and if the store serves nobody, at most 10 s: what was written until they are back must not wait for longer. An
// archiver lists the whole archive when it begins. So a store that refuses this archive alone is asked less often, and one that fails only after a
// while: the pause is then up to five times what was spent to begin.
func Delay(failures int32, err error, reason string, spent, maxLag time.Duration) time.Duration {
	limit := lastDelay
	switch {
	case errors.Is(err, failure.ErrMembers):
		limit = min(max(maxLag, membersDelay), lastDelay)
	case reason == v1beta2.ReasonStoreUnavailable, reason == v1beta2.ReasonStoreUnreachable:
		limit = min(max(storeDelay, 5*spent), lastDelay)
	}
	if errors.Is(err, failure.ErrMembers) && failures == 1 {
		return firstMemberDelay
	}
	d := firstDelay
	for ; failures > 1 && d < limit; failures-- {
		d *= 2
	}
	return min(d, limit)
}

// Pause waits, and returns false if ctx has ended.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
