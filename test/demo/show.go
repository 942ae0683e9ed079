package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-suite/etcd-operator/test/stack"
)

// printf prints one indented line of the narration.
func printf(format string, args ...any) { fmt.Printf("      "+format+"\n", args...) }

func (d *demo) apply(ctx context.Context, files ...string) error {
	for _, file := range files {
		printf("kubectl apply -n %s -f %s", namespace, file)
		if _, err := d.stack.Kubectl(ctx, "apply", "-n", namespace, "-f", file); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) wait(ctx context.Context, object, condition string) error {
	printf("kubectl wait -n %s %s --for=condition=%s", namespace, object, condition)
	_, err := d.stack.Kubectl(ctx, "wait", "-n", namespace, object, "--for=condition="+condition, "--timeout="+waitLimit)
	return err
}

// show prints the output of kubectl get. It ignores errors, because the demo does not depend on it.
func (d *demo) show(ctx context.Context, kinds string) {
	output, _ := d.stack.Kubectl(ctx, "get", "-n", namespace, kinds)
	for line := range strings.Lines(output) {
		fmt.Print("        " + line)
	}
}

// explain prints the objects, events and logs that a person needs to find out why a step failed.
func (d *demo) explain(ctx context.Context) {
	if d.stack == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, args := range [][]string{
		{"get", "-n", namespace, "etcdclusters,etcdbackups,etcdrestores,pods,pvc,services", "-o", "wide"},
		{"get", "-n", namespace, "etcdclusters,etcdbackups,etcdrestores", "-o", "yaml"},
		{"get", "-n", namespace, "events", "--sort-by=.lastTimestamp"},
		{"logs", "-n", stack.Namespace, "-l", "app.kubernetes.io/instance=" + stack.Release, "--tail=40", "--prefix"},
	} {
		output, _ := d.stack.Kubectl(ctx, args...)
		fmt.Printf("\n--- kubectl %s\n%s", strings.Join(args, " "), output)
	}
}

// A fact is one row of the table at the end.
type fact struct{ what, evidence string }

func (d *demo) prove(what, evidence string, args ...any) {
	d.proven = append(d.proven, fact{what, fmt.Sprintf(evidence, args...)})
}

func (d *demo) showProven() {
	fmt.Printf("\nThe demo succeeded in %s. It has shown:\n\n", time.Since(d.started).Round(time.Second))
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	for _, f := range d.proven {
		fmt.Fprintf(table, "  %s\t%s\n", f.what, f.evidence)
	}
	_ = table.Flush()
}

func (d *demo) showNextSteps() {
	fmt.Print("\nWhat to try next:\n\n")
	kubectl := "kubectl"
	if d.stack.Local != nil {
		fmt.Printf("  export KUBECONFIG=%s PATH=%s:$PATH\n", d.stack.Local.Kubeconfig(), d.stack.Local.Bin())
	}
	fmt.Printf(`  %[1]s -n %[2]s scale etcdcluster/%[3]s --replicas=5
  %[1]s -n %[2]s delete pods -l etcd_cluster=%[3]s     # all Pods at once: the data is kept
  %[1]s -n %[2]s describe etcdcluster/%[3]s
  make cluster-down                            # remove everything
`, kubectl, namespace, cluster)
}

// The client that measures the outage reads every readInterval and waits at most responseLimit for a response.
const (
	readInterval  = 20 * time.Millisecond
	responseLimit = 500 * time.Millisecond
)

// measureOutage reads in a loop until the returned function is called. That function returns the longest time without
// a response and the number of reads.
func measureOutage(ctx context.Context, etcd *clientv3.Client) func() (longest time.Duration, reads int) {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	var longest time.Duration
	reads := 0
	go func() {
		defer close(done)
		last := time.Now()
		for tick := time.NewTicker(readInterval); ctx.Err() == nil; <-tick.C {
			reads++
			limited, cancel := context.WithTimeout(ctx, responseLimit)
			_, err := etcd.Get(limited, "demo/outage")
			cancel()
			if err == nil {
				longest = max(longest, time.Since(last))
				last = time.Now()
			}
		}
	}()
	return func() (time.Duration, int) {
		stop()
		<-done
		return longest, reads
	}
}

const namespace = "demo"

const cluster = "example"

// waitLimit is the timeout of each kubectl wait. On an idle machine each wait takes seconds.
const waitLimit = "180s"

type demo struct {
	started time.Time
	stack   *stack.Stack
	store   *s3.Client
	etcd    *clientv3.Client
	// tls is what the client Secret of the cluster has.
	tls *tls.Config
	// forgotten gets the result of deleting what an earlier demo left.
	forgotten chan error
	// revision of the cluster after the last write before the snapshot.
	revision int64
	// proven is the table at the end: what the demo saw, and the evidence.
	proven []fact
}
