// Command release makes what a release of the suite has, and sends it to a registry. It is a module of its own, so that the
// operators depend on none of its libraries.
//
//	go run . build --out dist/release --helm helm     # run by make release
//	go run . push --from dist/release --registry ghcr.io/etcd-suite --helm helm
//
// The same commit, Go toolchain, Helm and CA bundle give the same bytes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
)

// options of both commands. Paths are relative to the root of the project.
type options struct {
	root     string
	out      string
	from     string
	tag      string
	helm     string
	registry string
	digests  string
	// platforms that kubectl etcd is compiled for
	platforms string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "release:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	var opts options
	flags := pflag.NewFlagSet("release", pflag.ContinueOnError)
	flags.StringVar(&opts.root, "root", "../..", "root of the project, to which all other paths are relative")
	flags.StringVar(&opts.out, "out", "dist/release", "build: directory to write; it is emptied first")
	flags.StringVar(&opts.from, "from", "dist/release", "push: directory that build has written")
	flags.StringVar(&opts.tag, "tag", "", "build: tag of the release, v and the version; the chart and the changelog must have that version")
	flags.StringVar(&opts.platforms, "plugin-platforms", pluginPlatforms, "build: systems and architectures of kubectl etcd")
	flags.StringVar(&opts.helm, "helm", "helm", "path of the program helm")
	flags.StringVar(&opts.registry, "registry", "", "push: registry and path, for example ghcr.io/etcd-suite; a registry on loopback is used without TLS")
	flags.StringVar(&opts.digests, "digests", "dist/digests.txt", "push: file that receives name and digest of everything that was pushed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := os.Chdir(opts.root); err != nil {
		return fmt.Errorf("find the project: %w", err)
	}
	switch flags.Arg(0) {
	case "build":
		return build(ctx, opts, stdout)
	case "push":
		return push(ctx, opts, stdout)
	default:
		return fmt.Errorf("unknown command %q: write build or push", flags.Arg(0))
	}
}
