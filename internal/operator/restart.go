package operator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A process that lost its Lease must end, because another one may lead. If it exits, the kubelet waits before it starts the
// container again: 10 s, then twice as long each time, up to 5 min. So the process replaces itself by a new one that waits
// for the Lease like any other replica.

// restartPause is the time between the end of a process and its successor.
const restartPause = time.Second

// leaseLost is the error of a manager that lost its Lease. controller-runtime does not export it.
const leaseLost = "leader election lost"

// mayStartAgain reports whether a new process can do better: it lost the Lease, or did not reach the API server.
func mayStartAgain(err error) bool {
	var unreached net.Error
	return err != nil && (strings.Contains(err.Error(), leaseLost) || errors.As(err, &unreached) || apierrors.IsServiceUnavailable(err) || apierrors.IsServerTimeout(err))
}

// untilDone runs once, and starts again if that may help. again does not return if it succeeds.
func untilDone(ctx context.Context, run func() error, again func() error) error {
	err := run()
	if !mayStartAgain(err) || ctx.Err() != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "starting again:", err)
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(restartPause):
		return again()
	}
}

// replaceProcess replaces this process by a new one of the same program, with the same arguments.
func replaceProcess() error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program of this process: %w", err)
	}
	if err := syscall.Exec(program, os.Args, os.Environ()); err != nil { //nolint:gosec // G702: the program is this one, with its own arguments
		return fmt.Errorf("start %s again: %w", program, err)
	}
	return nil
}
