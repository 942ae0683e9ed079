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

// A status with this text must only be written when the state changes, and not at every probe.
func TestCauseGivesTheSameTextForTheSameState(t *testing.T) {
	const silent, noQuorum = "it does not answer", "it cannot reach a quorum"
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"connection refused": {fmt.Errorf("status at x: %w", status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 10.1.2.3:2379: connect: connection refused"`)), silent},
		"no route":           {fmt.Errorf("status at x: %w", status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 10.1.2.3:2379: connect: no route to host"`)), silent},
		"context deadline":   {fmt.Errorf("status at x: %w", context.DeadlineExceeded), silent},
		"gRPC deadline":      {fmt.Errorf("status at x: %w", status.Error(codes.DeadlineExceeded, "latest balancer error: 10.1.2.3")), silent},
		"no leader":          {fmt.Errorf("linearizable read at x: %w", rpctypes.ErrNoLeader), noQuorum},
		"request timed out":  {fmt.Errorf("linearizable read at x: %w", rpctypes.ErrTimeout), noQuorum},
		"CORRUPT alarm":      {fmt.Errorf("linearizable read at x: %w", rpctypes.ErrCorrupt), "it refuses requests because a CORRUPT alarm is on"},
		"certificate expired": {
			status.Error(codes.Unavailable, `connection error: desc = "transport: authentication handshake failed: tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-11-21T08:00:00Z is after 2026-11-20T08:00:00Z"`),
			"the TLS handshake failed: tls: failed to verify certificate: x509: certificate has expired or is not yet valid",
		},
		"any other error": {errors.New("permission denied"), "permission denied"},
	} {
		if got := Cause(test.err); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
