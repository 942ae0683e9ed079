package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-suite/etcd-operator/test/stack"
)

func say(format string, args ...any) { fmt.Printf("      "+format+"\n", args...) }

func (d *demo) apply(ctx context.Context, files ...string) error {
	for _, file := range files {
		say("kubectl apply -n %s -f %s", namespace, file)
		if _, err := d.stack.Kubectl(ctx, "apply", "-n", namespace, "-f", file); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) wait(ctx context.Context, object, condition string) error {
	say("kubectl wait -n %s %s --for=condition=%s", namespace, object, condition)
	_, err := d.stack.Kubectl(ctx, "wait", "-n", namespace, object, "--for=condition="+condition, "--timeout="+patience)
	return err
}

// show prints what kubectl get shows, as far as it can be had.
func (d *demo) show(ctx context.Context, kinds string) {
	output, _ := d.stack.Kubectl(ctx, "get", "-n", namespace, kinds)
	for line := range strings.Lines(output) {
		fmt.Print("        " + line)
	}
}

// explain prints what a person would look at when a step failed.
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

func (d *demo) farewell() {
	fmt.Printf("\nAll of it in %s. Things to try next:\n\n", time.Since(d.started).Round(time.Second))
	kubectl := "kubectl"
	if d.stack.Local != nil {
		fmt.Printf("  export KUBECONFIG=%s PATH=%s:$PATH\n", d.stack.Local.Kubeconfig(), d.stack.Local.Bin())
	}
	fmt.Printf(`  %[1]s -n %[2]s scale etcdcluster/%[3]s --replicas=5
  %[1]s -n %[2]s delete pods -l etcd_cluster=%[3]s     # all at once: the data stays
  %[1]s -n %[2]s describe etcdcluster/%[3]s
  make cluster-down                            # remove it all
`, kubectl, namespace, cluster)
}

// pace of the client that watches for gaps, and how long it waits for one answer.
const (
	pace        = 20 * time.Millisecond
	answerLimit = 500 * time.Millisecond
)

// watchGaps reads in a loop until the returned function is called, which tells the longest time without an answer
// and how many reads were made.
func watchGaps(ctx context.Context, etcd *clientv3.Client) func() (longest time.Duration, questions int) {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	var longest time.Duration
	questions := 0
	go func() {
		defer close(done)
		last := time.Now()
		for tick := time.NewTicker(pace); ctx.Err() == nil; <-tick.C {
			questions++
			asking, cancel := context.WithTimeout(ctx, answerLimit)
			_, err := etcd.Get(asking, "demo/gap")
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
		return longest, questions
	}
}
