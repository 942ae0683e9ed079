// Modules downloads the Go modules of this repository's packages and tests. It needs the standard library only, so that
// it runs on a fresh machine before anything else is built, and it starts a stalled download again.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/etcd-suite/etcd-operator/test/localkube/download"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := download.Modules(ctx, os.Stdout, download.Request{What: "this repository", Packages: []string{"-test", "./..."}})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "modules:", err)
		os.Exit(1)
	}
}
