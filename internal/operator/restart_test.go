package operator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestAnOperatorThatLostItsLeaseStartsAgainWithoutAnExit(t *testing.T) {
	for name, test := range map[string]struct {
		err   error
		again bool
	}{
		"it lost its Lease":               {fmt.Errorf("run cluster-operator: %w", errors.New(leaseLost)), true},
		"it does not reach the API":       {fmt.Errorf("set up: %w", &net.OpError{Op: "dial", Err: errors.New("connection refused")}), true},
		"it may not watch":                {errors.New("forbidden"), false},
		"it was asked to stop, and ended": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			started := false
			err := untilDone(t.Context(), func() error { return test.err }, func() error { started = true; return nil })
			if started != test.again || (!test.again && !errors.Is(err, test.err)) {
				t.Errorf("started again: %v, want %v; %v", started, test.again, err)
			}
		})
	}
}

func TestAnOperatorThatIsAskedToStopDoesNotStartAgain(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := untilDone(ctx, func() error { cancel(); return errors.New(leaseLost) }, func() error { t.Error("it starts again"); return nil })
	if err == nil {
		t.Error("the error is lost")
	}
}

// Without this, clusters of an operator that ends are left alone until its Lease expires.
func TestAnOperatorThatEndsGivesItsLeaseUp(t *testing.T) {
	if !managerOptions("cluster-operator", Options{LeaderElect: true}, logr.Discard(), runtime.NewScheme()).LeaderElectionReleaseOnCancel {
		t.Error("another replica waits for the end of the Lease")
	}
	if retry := *managerOptions("backup-operator", Options{LeaderElect: true, LeaseRetry: time.Second}, logr.Discard(), runtime.NewScheme()).RetryPeriod; retry != time.Second {
		t.Errorf("another replica tries to get the Lease every %s, and nothing is archived until then", retry)
	}
}
