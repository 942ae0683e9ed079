// Localkube is a real Kubernetes on one machine, for demo and tests.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/etcd-suite/etcd-operator/test/localkube/cluster"
	"github.com/etcd-suite/etcd-operator/test/localkube/programs"
)

const usage = `usage: go run ./test/localkube COMMAND

  build [NAME...]      build programs that are not built yet (NAME: a folder in
                       test/localkube/programs, or all; without a name: the
                       programs that up needs)
  bin                  print the directory of the built programs
  up [--nodes 3]       start the cluster, or repair one that runs
  down                 remove the cluster and everything that up created
  status               show the state of the API server and of each node
  kubeconfig           print the path of the administrator's kubeconfig
  load FILE...         load image archives into every node
  node stop N          power the node off      node start N
  node freeze N        freeze its processes    node thaw N
  node cut N           disconnect its network  node join N
  node fill N [BYTES]  fill its volumes' disk  node unfill N

environment: LOCALKUBE_STATE (currently %s), LOCALKUBE_CACHE
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "localkube:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, w io.Writer) error {
	commands := map[string]func(context.Context, []string, io.Writer) error{
		"build": build, "bin": bin, "up": up, "down": down, "status": status,
		"kubeconfig": kubeconfig, "load": load, "node": node,
	}
	if len(args) == 0 {
		fmt.Fprintf(w, usage, cluster.StateDir())
		return nil
	}
	command, ok := commands[args[0]]
	if !ok {
		return fmt.Errorf("unknown command %q; run without a command to list the commands", args[0])
	}
	return command(ctx, args[1:], w)
}

func build(ctx context.Context, names []string, w io.Writer) error {
	modules, err := programs.Select(names...)
	if err != nil {
		return err
	}
	cache, err := programs.Open(ctx)
	if err != nil {
		return err
	}
	return cache.Build(ctx, w, modules)
}

func bin(ctx context.Context, _ []string, w io.Writer) error {
	cache, err := programs.Open(ctx)
	if err != nil {
		return err
	}
	dir, err := cache.Bin()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, dir)
	return err
}

func up(ctx context.Context, args []string, w io.Writer) error {
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	nodes := flags.Int("nodes", 3, "number of nodes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	logf := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	if err := cluster.Require(ctx, logf); err != nil {
		return err
	}
	if err := build(ctx, nil, w); err != nil {
		return err
	}
	cache, err := programs.Open(ctx)
	if err != nil {
		return err
	}
	dir, err := cache.Bin()
	if err != nil {
		return err
	}
	c, err := cluster.Up(ctx, cluster.Options{State: cluster.StateDir(), Bin: dir, Nodes: *nodes, Progress: w})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\n  export KUBECONFIG=%s\n  export PATH=%s:$PATH\n", c.Kubeconfig(), c.Bin())
	return err
}

func down(ctx context.Context, _ []string, w io.Writer) error {
	return cluster.Down(ctx, cluster.StateDir(), w)
}

func status(ctx context.Context, _ []string, w io.Writer) error {
	c, err := cluster.Open(cluster.StateDir())
	if errors.Is(err, cluster.ErrNotUp) {
		_, err = fmt.Fprintln(w, err)
		return err
	}
	if err != nil {
		return err
	}
	nodes, err := c.Status(ctx)
	if err != nil {
		return err
	}
	apiServer := "the API server is ready"
	if err := c.APIReady(ctx); err != nil {
		apiServer = err.Error()
	}
	fmt.Fprintln(w, apiServer)
	for _, n := range nodes {
		fmt.Fprintln(w, n)
	}
	return nil
}

func kubeconfig(_ context.Context, _ []string, w io.Writer) error {
	c, err := cluster.Open(cluster.StateDir())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, c.Kubeconfig())
	return err
}

func load(ctx context.Context, files []string, _ io.Writer) error {
	if len(files) == 0 {
		return errors.New("load needs at least one image archive: load FILE")
	}
	c, err := cluster.Open(cluster.StateDir())
	if err != nil {
		return err
	}
	return c.Load(ctx, files...)
}

func node(ctx context.Context, args []string, _ io.Writer) error {
	if len(args) < 2 {
		return errors.New("node needs a verb and a number, for example: node stop 2")
	}
	number, err := strconv.Atoi(strings.TrimPrefix(args[1], "node-"))
	if err != nil {
		return fmt.Errorf("%q is not the number of a node: %w", args[1], err)
	}
	c, err := cluster.Open(cluster.StateDir())
	if err != nil {
		return err
	}
	verbs := map[string]func(context.Context, int) error{
		"stop": c.StopNode, "start": c.StartNode, "freeze": c.FreezeNode, "thaw": c.ThawNode,
		"cut": c.CutNode, "join": c.JoinNode, "unfill": c.UnfillNode,
		"fill": func(ctx context.Context, number int) error {
			if len(args) == 2 {
				return c.FillNode(ctx, number, 0)
			}
			size, err := strconv.ParseInt(args[2], 10, 64)
			if err != nil || size <= 0 {
				return fmt.Errorf("%q is not a positive number of bytes", args[2])
			}
			return c.FillNode(ctx, number, size)
		},
	}
	verb, ok := verbs[args[0]]
	if !ok {
		return fmt.Errorf("unknown verb %q: node has stop, start, freeze, thaw, cut, join, fill and unfill", args[0])
	}
	return verb(ctx, number)
}
