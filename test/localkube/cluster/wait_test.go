package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestPoll(t *testing.T) {
	t.Run("calls the function until it returns true", func(t *testing.T) {
		calls := 0
		err := poll(t.Context(), time.Minute, time.Millisecond, "it", func() (bool, error) {
			calls++
			return calls == 3, nil
		})
		if err != nil || calls != 3 {
			t.Errorf("calls %d times, error %v", calls, err)
		}
	})
	t.Run("names the awaited event if the limit is exceeded", func(t *testing.T) {
		err := poll(t.Context(), 5*time.Millisecond, time.Millisecond, "the moon", func() (bool, error) { return false, nil })
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the moon") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("stops at the first error", func(t *testing.T) {
		broken := errors.New("broken")
		if err := poll(t.Context(), time.Minute, time.Hour, "it", func() (bool, error) { return false, broken }); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	})
}

func TestForEachNode(t *testing.T) {
	t.Run("runs the function for all nodes at once", func(t *testing.T) {
		arrived := make(chan node, 3)
		all := make(chan struct{})
		go func() {
			for range 3 {
				<-arrived
			}
			close(all)
		}()
		err := forEachNode(t.Context(), nodesUpTo(3), func(ctx context.Context, n node) error {
			arrived <- n
			<-all // closed only if all nodes run at the same time
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("cancels the other nodes if one fails, and names the failed node", func(t *testing.T) {
		err := forEachNode(t.Context(), nodesUpTo(2), func(ctx context.Context, n node) error {
			if n == 2 {
				return errors.New("broken")
			}
			<-ctx.Done()
			return nil
		})
		if err == nil || err.Error() != "node-2: broken" {
			t.Errorf("got %v", err)
		}
	})
}
