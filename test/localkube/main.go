package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/etcd-suite/etcd-operator/test/localkube/programs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	flag.Parse()
	if err := run(ctx, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "localkube:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	cache, err := programs.Open(ctx)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return fmt.Errorf("want a command: build [NAME...], bin")
	}
	switch args[0] {
	case "build":
		modules, err := programs.Select(args[1:]...)
		if err != nil {
			return err
		}
		return cache.Build(ctx, os.Stdout, modules)
	case "bin":
		bin, err := cache.Bin()
		if err != nil {
			return err
		}
		fmt.Println(bin)
		return nil
	}
	return fmt.Errorf("no command %q", args[0])
}
