// Demo shows the whole suite on real servers. It starts a Kubernetes and an S3 server and installs the suite with Helm.
// Then it creates an etcd cluster, takes a snapshot, destroys the data and restores it. It applies the manifests of
// examples/ unchanged and fails if any key differs afterwards.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// limit is the time limit of the whole demo, including the first build.
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
		{"Start a Kubernetes with three nodes (its programs are built only once)", d.kubernetes},
		{"Build the container images and load them into the nodes", d.images},
		{"Start an S3 server in the cluster", d.objectStore},
		{"Install the three operators with Helm", d.install},
		{"Create an etcd cluster with three members", d.createCluster},
		{fmt.Sprintf("Write %d keys with an etcd client", keys), d.write},
		{"Back up the cluster to S3", d.backup},
		{"Destroy the data: delete every key and write other keys", d.destroy},
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
	d.showProven()
	d.showNextSteps()
	return nil
}
