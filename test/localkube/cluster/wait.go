package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// poll calls done every interval until it returns true or an error, or until the
// limit is exceeded. what names the awaited event in the error.
func poll(ctx context.Context, limit, interval time.Duration, what string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		ok, err := done()
		if ok {
			return nil
		}
		if err != nil {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
}

// forEachNode runs f for all nodes at once. The first failure cancels the others.
// It returns the errors of all nodes.
func forEachNode(ctx context.Context, nodes []node, f func(context.Context, node) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failures := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() {
			if err := f(ctx, n); err != nil {
				failures[i] = fmt.Errorf("%s: %w", n, err)
				cancel()
			}
		})
	}
	wg.Wait()
	return errors.Join(failures...)
}
