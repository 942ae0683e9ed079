package attempt_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
)

// trickle is a member that sends a byte every 29 s.
type trickle struct{ ctx context.Context } //nolint:containedctx // the stream owns it

func (trickle) Snapshot(ctx context.Context) (io.ReadCloser, int64, error) {
	return io.NopCloser(trickle{ctx: ctx}), 10 << 30, nil
}

func (s trickle) Read(p []byte) (int, error) {
	select {
	case <-time.After(29 * time.Second):
		p[0] = 0
		return 1, nil
	case <-s.ctx.Done():
		return 0, context.Cause(s.ctx)
	}
}

func TestAMemberThatSendsAByteNowAndThenEndsTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := attempttest.NewWorld(t)
		w.Source = func(string, ask.Access) save.Source { return trickle{} }
		w.Save = func(ctx context.Context, r save.Request) (save.Saved, error) {
			stream, _, err := r.Source.Snapshot(ctx)
			if err != nil {
				return save.Saved{}, err
			}
			defer stream.Close()
			_, err = io.Copy(io.Discard, stream)
			return save.Saved{}, err
		}
		begin := time.Now()
		r := w.Attempt(statetest.One(func(s *state.State) { s.Spec.BackupPolicy = statetest.PolicyOf(86400) }))
		if r.Failure == nil || r.Failure.Reason != "TransferTooSlow" {
			t.Errorf("%+v", r.Failure)
		}
		if took := time.Since(begin); took > 6*time.Minute {
			t.Errorf("it ended after %s", took)
		}
	})
}
