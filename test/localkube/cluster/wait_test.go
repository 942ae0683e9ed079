package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestPoll(t *testing.T) {
	t.Run("asks again until it is done", func(t *testing.T) {
		asked := 0
		err := poll(t.Context(), time.Minute, time.Millisecond, "it", func() (bool, error) {
			asked++
			return asked == 3, nil
		})
		if err != nil || asked != 3 {
			t.Errorf("asked %d times, error %v", asked, err)
		}
	})
	t.Run("says what it waited for when the time is up", func(t *testing.T) {
		err := poll(t.Context(), 5*time.Millisecond, time.Millisecond, "the moon", func() (bool, error) { return false, nil })
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the moon") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("stops at the first failure", func(t *testing.T) {
		broken := errors.New("broken")
		if err := poll(t.Context(), time.Minute, time.Hour, "it", func() (bool, error) { return false, broken }); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	})
}

func TestTogether(t *testing.T) {
	t.Run("runs all at once", func(t *testing.T) {
		arrived := make(chan node, 3)
		all := make(chan struct{})
		go func() {
			for range 3 {
				<-arrived
			}
			close(all)
		}()
		err := together(t.Context(), nodesUpTo(3), func(ctx context.Context, n node) error {
			arrived <- n
			<-all // only reached by all when none waits for another to end
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("stops the others when one fails, and says which", func(t *testing.T) {
		err := together(t.Context(), nodesUpTo(2), func(ctx context.Context, n node) error {
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
