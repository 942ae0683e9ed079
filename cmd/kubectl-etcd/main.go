// Command kubectl-etcd shows and steers the etcd clusters of the suite: kubectl etcd status.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := cli.New(cli.System(), operator.Version).ExecuteContext(ctx)
	code := cli.ExitCode(ctx, err)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
	}
	os.Exit(code)
}
