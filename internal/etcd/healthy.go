package etcd

import (
	"context"
	"fmt"
)

// Healthy returns nil if a member has a leader and serves linearizable reads, and no alarm is on. It asks the member at "host:port"
// over plain HTTP. Do not ask etcd 3.4: it writes each such question into its log.
func Healthy(ctx context.Context, address string) error {
	body, err := Get(ctx, address, "/health", 0)
	if err != nil {
		return fmt.Errorf("check the health of %s: %w", address, err)
	}
	_ = body.Close()
	return nil
}
