// Command kubectl-etcd shows and steers the etcd clusters of the suite: kubectl etcd status.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/etcdctl"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == etcdctl.Command {
		etcdctl.Main()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	system := session.System()
	root := cli.New(system, operator.Version)
	root.SetArgs(cli.Arguments(os.Args))
	err := root.ExecuteContext(ctx)
	code := cli.ExitCode(ctx, err)
	if err != nil {
		fmt.Fprintln(terminal.Printable(os.Stderr), session.Message(ctx, err, system.Width))
	}
	stop()
	os.Exit(code)
}
