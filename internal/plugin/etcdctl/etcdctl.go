// Package etcdctl runs etcdctl on the machine of the user, as a child process of this program. etcdctl ends its process itself, and the files with the key of
// a user must be deleted after that.
package etcdctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"

	"go.etcd.io/etcd/etcdctl/v3/ctlv3"
	"k8s.io/client-go/util/exec"

	"github.com/etcd-suite/etcd-operator/internal/child"
)

// Command is the first argument of the child.
const Command = "etcdctl-child"

// Main is the main function of the child.
func Main() {
	os.Args = append([]string{"etcdctl"}, os.Args[2:]...)
	ctlv3.MustStart()
}

// Streams are those of the user.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run runs etcdctl with these arguments. The variables of etcdctl that the user has set do not count.
func Run(ctx context.Context, streams Streams, args []string) error {
	process, err := child.New(ctx, Command, "TERM="+os.Getenv("TERM"))
	if err != nil {
		return err
	}
	process.Args = append(process.Args, args...)
	process.Stdin, process.Stdout, process.Stderr = streams.In, streams.Out, streams.Err
	err = process.Run()
	var ended *osexec.ExitError
	switch {
	case errors.As(err, &ended):
		return fmt.Errorf("etcdctl ended with exit code %d. What it did before, if anything, remains. Its own message is above: %w", ended.ExitCode(),
			exec.CodeExitError{Err: err, Code: ended.ExitCode()})
	case err != nil:
		return fmt.Errorf("etcdctl cannot be started: %w. Nothing was run", err)
	}
	return nil
}
