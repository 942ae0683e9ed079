// Command images builds the project's container images as OCI archives,
// without Docker and without a base image to download.
//
//	go run ./hack/images [flags] NAME...
//
// A NAME is one of:
//   - cluster-operator, backup-operator or restore-operator: the command compiles the operator.
//   - etcd-VERSION=DIR: the command packs DIR/etcd, DIR/etcdctl and DIR/etcdutl (since 3.5) as upstream's image does.
//
// --program packs any other static program. Each archive is <out>/<name>.tar. It is an OCI image layout that contains its
// name, and `ctr -n k8s.io images import`, `docker load` and `skopeo copy oci-archive:` can read it.
//
// The same commit, Go toolchain and CA bundle give the same bytes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "images:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	opts, err := parse(args)
	if err != nil {
		return err
	}
	targets, err := parseTargets(opts.names, opts.programs)
	if err != nil {
		return err
	}
	if opts.version == "" {
		if opts.version, err = appVersion(chartFile); err != nil {
			return err
		}
	}
	if err := opts.validate(); err != nil {
		return err
	}
	return build(ctx, opts, targets, stdout)
}

func parse(args []string) (options, error) {
	var opts options
	flags := pflag.NewFlagSet("images", pflag.ContinueOnError)
	flags.StringVar(&opts.out, "out", "dist/images", "directory for the archives")
	flags.StringSliceVar(&opts.archs, "arch", []string{runtime.GOARCH}, "architectures of the operators; with several, each operator is one multi-platform image")
	flags.StringVar(&opts.version, "version", "", "version and tag of the operators (default: the chart's appVersion)")
	flags.StringVar(&opts.registry, "registry", "ghcr.io/etcd-suite", "registry and path of the operators' images")
	flags.StringVar(&opts.caBundle, "ca-bundle", "/etc/ssl/certs/ca-certificates.crt", "PEM file with the CA certificates of the images")
	flags.StringArrayVar(&opts.programs, "program", nil, "NAME:TAG=FILE[,FILE]: pack static programs, of which the first is the entrypoint; may be repeated")
	flags.StringVar(&opts.keep, "keep", "", "directory that also receives the compiled operators, as <name>-linux-<arch>")
	flags.StringVar(&opts.linked, "linked", "", "directory of the compiled operators; a later run links only operators that have changed")
	flags.Usage = func() {
		fmt.Fprintf(os.Stderr, "images builds OCI archives without Docker.\n\nUsage: go run ./hack/images [flags] NAME...\n\nNAME: %s, or etcd-VERSION=DIR\n\n%s",
			strings.Join(operators, ", "), flags.FlagUsages())
	}
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	opts.names = flags.Args()
	if len(opts.names)+len(opts.programs) == 0 {
		return opts, fmt.Errorf("no image is named: name %s, etcd-VERSION=DIR, or use --program", strings.Join(operators, ", "))
	}
	return opts, nil
}

func (o options) validate() error {
	if !tagPattern.MatchString(o.version) {
		return fmt.Errorf("--version %q is not a valid image tag", o.version)
	}
	if len(o.archs) == 0 {
		return fmt.Errorf("--arch is empty")
	}
	for i, arch := range o.archs {
		if arch != "amd64" && arch != "arm64" {
			return fmt.Errorf("--arch %q: want amd64 or arm64", arch)
		}
		if slices.Contains(o.archs[:i], arch) {
			return fmt.Errorf("--arch names %s twice", arch)
		}
	}
	return nil
}
