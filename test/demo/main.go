// Demo shows the whole promise on real parts: a Kubernetes, an S3 server, the suite installed by Helm, an etcd
// cluster, a snapshot, a disaster, a restore. It applies examples/ as they stand and fails loudly if anything differs.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// limit of the whole demo, the first build included.
const limit = 40 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, limit)
	err := run(ctx)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo failed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	d := &demo{started: time.Now()}
	steps := []struct {
		what string
		do   func(context.Context) error
	}{
		{"Bring up a Kubernetes of three nodes (programs are built once)", d.kubernetes},
		{"Build the images and load them", d.images},
		{"Start an S3 server in the cluster", d.objectStore},
		{"Install the three operators with Helm", d.install},
		{"Create an etcd cluster of three members", d.createCluster},
		{fmt.Sprintf("Write %d keys with an etcd client", keys), d.write},
		{"Take a snapshot into S3", d.backup},
		{"Destroy the data: delete every key and write rubbish", d.destroy},
		{"Restore the snapshot", d.restore},
		{"Read every key back", d.readBack},
	}
	for i, step := range steps {
		fmt.Printf("\n[%d/%d] %s\n", i+1, len(steps), step.what)
		began := time.Now()
		if err := step.do(ctx); err != nil {
			d.explain(context.WithoutCancel(ctx))
			return fmt.Errorf("%s: %w", step.what, err)
		}
		fmt.Printf("      done in %s\n", time.Since(began).Round(100*time.Millisecond))
	}
	d.farewell()
	return nil
}
