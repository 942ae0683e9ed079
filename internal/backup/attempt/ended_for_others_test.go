package attempt

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// An attempt that gave its worker to another namespace was reported as one whose time limit had passed, or as a failure of its store.
func TestAnAttemptThatEndedForOthersSaysSo(t *testing.T) {
	ctx, end := context.WithCancelCause(t.Context())
	end(fmt.Errorf("%w, and this held a worker for longer than it may", turns.ErrOthersWaited))
	err := explained(ctx, fmt.Errorf("put the object: %w", context.Canceled))
	f := failure.Classify(err, state.JobSpec{}, false)
	if f.Reason != v1beta2.ReasonRetrying || !strings.Contains(f.Message, "this held a worker for longer than it may") {
		t.Errorf("%+v", f)
	}
}
