package etcd

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A status that holds these words is written when the state changes, and not at every look.
func TestTheSameStateIsSaidInTheSameWords(t *testing.T) {
	const silent, noQuorum = "it does not answer", "no quorum stands behind it"
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"refused":           {fmt.Errorf("status at x: %w", status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 10.1.2.3:2379: connect: connection refused"`)), silent},
		"no route":          {fmt.Errorf("status at x: %w", status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 10.1.2.3:2379: connect: no route to host"`)), silent},
		"too late":          {fmt.Errorf("status at x: %w", context.DeadlineExceeded), silent},
		"too late, by gRPC": {fmt.Errorf("status at x: %w", status.Error(codes.DeadlineExceeded, "latest balancer error: 10.1.2.3")), silent},
		"no leader":         {fmt.Errorf("linearizable read at x: %w", rpctypes.ErrNoLeader), noQuorum},
		"timed out":         {fmt.Errorf("linearizable read at x: %w", rpctypes.ErrTimeout), noQuorum},
		"corrupt":           {fmt.Errorf("linearizable read at x: %w", rpctypes.ErrCorrupt), "it refuses requests, because a CORRUPT alarm is on"},
		"certificate expired": {
			status.Error(codes.Unavailable, `connection error: desc = "transport: authentication handshake failed: tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-11-21T08:00:00Z is after 2026-11-20T08:00:00Z"`),
			"the TLS handshake failed: tls: failed to verify certificate: x509: certificate has expired or is not yet valid",
		},
		"another": {errors.New("permission denied"), "permission denied"},
	} {
		if got := Cause(test.err); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
