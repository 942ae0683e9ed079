package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"
)

// A builder holds the shared data of all images of one run.
type builder struct {
	opts   options
	base   *layer
	origin origin
	bins   map[string]string // directory of the compiled operators for each architecture

	printing sync.Mutex
	stdout   io.Writer
}

func build(ctx context.Context, opts options, targets []target, stdout io.Writer) error {
	bundle, err := os.ReadFile(opts.caBundle)
	if err != nil {
		return fmt.Errorf("read the CA bundle (install the package ca-certificates or set --ca-bundle): %w", err)
	}
	b := &builder{opts: opts, bins: map[string]string{}, stdout: stdout}
	if b.base, err = baseLayer(bundle); err != nil {
		return fmt.Errorf("create the base layer: %w", err)
	}
	dir := opts.linked
	if dir == "" {
		if dir, err = os.MkdirTemp("", "images-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
	}
	if err := b.compile(ctx, targets, dir); err != nil {
		return err
	}
	return b.packAll(ctx, targets)
}

// packAll packs an image on each processor at a time: compressing takes most of the time. It returns all errors.
func (b *builder) packAll(ctx context.Context, targets []target) error {
	failed := make([]error, len(targets))
	var packing errgroup.Group
	packing.SetLimit(runtime.GOMAXPROCS(0))
	for i, t := range targets {
		packing.Go(func() error {
			failed[i] = b.pack(ctx, t)
			return nil
		})
	}
	_ = packing.Wait() // each error is in failed
	return errors.Join(failed...)
}

// compile builds the operators among targets, with one go build for each architecture, which links them in parallel.
func (b *builder) compile(ctx context.Context, targets []target, parent string) error {
	var packages []string
	for _, t := range targets {
		if t.kind == operatorImage {
			packages = append(packages, "./cmd/"+t.name)
		}
	}
	if len(packages) == 0 {
		return nil
	}
	var err error
	if b.origin, err = readOrigin(ctx); err != nil {
		return err
	}
	for _, arch := range b.opts.archs {
		dir := filepath.Join(parent, arch)
		fmt.Fprintf(b.stdout, "compile %d operator(s) for linux/%s ...\n", len(packages), arch)
		start := time.Now()
		if err := goBuild(ctx, arch, b.opts.version, dir, packages, os.Stderr); err != nil {
			return err
		}
		fmt.Fprintf(b.stdout, "compiled in %s\n", time.Since(start).Round(100*time.Millisecond))
		b.bins[arch] = dir
	}
	return b.keep(targets)
}

// keep copies the compiled operators to --keep, so that a release has the programs that are in its images.
func (b *builder) keep(targets []target) error {
	if b.opts.keep == "" {
		return nil
	}
	if err := os.MkdirAll(b.opts.keep, 0o755); err != nil {
		return err
	}
	for arch, dir := range b.bins {
		for _, t := range targets {
			if t.kind != operatorImage {
				continue
			}
			program, err := os.ReadFile(filepath.Join(dir, t.name))
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(b.opts.keep, t.name+"-linux-"+arch), program, 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *builder) pack(ctx context.Context, t target) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("image %s: %w", t.name, err)
		}
	}()
	start := time.Now()
	archs, images, s, err := b.images(&t)
	if err != nil {
		return err
	}
	archive, err := newArchive(t.ref, archs, images, s)
	if err != nil {
		return err
	}
	path := filepath.Join(b.opts.out, t.name+".tar")
	size, err := archive.writeFile(path)
	if err != nil {
		return err
	}
	b.printing.Lock()
	defer b.printing.Unlock()
	fmt.Fprintf(b.stdout, "%s@%s %.1f MB %.1fs %s\n", t.ref, archive.root.Digest, float64(size)/1e6, time.Since(start).Seconds(), path)
	return nil
}

// images creates one image of t for each architecture. It sets the ref of an operator.
func (b *builder) images(t *target) ([]string, []v1.Image, stamp, error) {
	s := stamp{title: t.name, version: tagOf(t.ref), created: epoch}
	if t.kind != operatorImage {
		arch, err := programArch(t.files)
		if err != nil {
			return nil, nil, s, err
		}
		img, err := b.image(arch, t.kind, t.files, s)
		return []string{arch}, []v1.Image{img}, s, err
	}
	t.ref = b.opts.registry + "/" + t.name + ":" + b.opts.version
	s = operatorStamp(t.name, b.opts.version, b.origin)
	var images []v1.Image
	for _, arch := range b.opts.archs {
		file := filepath.Join(b.bins[arch], t.name)
		got, err := programArch([]string{file})
		if err != nil {
			return nil, nil, s, err
		}
		if got != arch {
			return nil, nil, s, fmt.Errorf("go build was called for %s, but the program is for %s", arch, got)
		}
		img, err := b.image(arch, t.kind, []string{file}, s)
		if err != nil {
			return nil, nil, s, err
		}
		images = append(images, img)
	}
	return b.opts.archs, images, s, nil
}

func (b *builder) image(arch string, k kind, files []string, s stamp) (v1.Image, error) {
	programs, err := programLayer(k, files)
	if err != nil {
		return nil, err
	}
	return newImage(arch, config(k, filepath.Base(files[0])), s, b.base, programs)
}

type options struct {
	out      string   // directory of the archives
	archs    []string // GOARCH values; operators only
	version  string   // tag of the operators' images
	registry string   // registry and path before the operators' names
	caBundle string   // PEM file that is copied to /etc/ssl/certs/ca-certificates.crt
	programs []string // NAME:TAG=FILE[,FILE]
	keep     string   // directory that also receives the compiled operators
	linked   string   // directory in which the next run finds the compiled operators; empty for none
	names    []string
}
