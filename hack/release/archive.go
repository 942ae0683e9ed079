package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A file of an archive.
type file struct {
	name    string
	content []byte
}

// zip returns a gzipped tar of the files in their order. All files have the time at, so the same files give the same bytes.
// Those that programs names are executable.
func zip(files []file, at time.Time, programs ...string) ([]byte, error) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out) // without a name and a time in its header
	archive := tar.NewWriter(zipped)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.content)), ModTime: at, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if slices.Contains(programs, f.name) {
			header.Mode = 0o755
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.name, err)
		}
		if _, err := archive.Write(f.content); err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.name, err)
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// unzip reads the files of a gzipped tar.
func unzip(raw []byte) ([]file, error) {
	zipped, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	archive := tar.NewReader(zipped)
	var files []file
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: header.Name, content: content})
	}
}

// charts packages the chart of the suite, with the digests of the images, and the chart of one cluster.
func (r release) charts(ctx context.Context, opts options) error {
	digests, err := r.digests()
	if err != nil {
		return fmt.Errorf("read the digests of the images: %w", err)
	}
	if err := r.chart(ctx, opts, chartDir, r.chartFile(), file{releaseName + "/" + digestsFile, digestsText(digests)}); err != nil {
		return err
	}
	return r.chart(ctx, opts, filepath.Join("charts", clusterChart), r.clusterChartFile())
}

// chart packages a chart with more files. Helm validates it, but writes the current time, so the archive is written again.
func (r release) chart(ctx context.Context, opts options, from, to string, more ...file) error {
	dir, err := os.MkdirTemp("", "release-chart-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if _, err := command(ctx, opts.helm, "package", from, "--destination", dir); err != nil {
		return err
	}
	raw, err := os.ReadFile(filepath.Join(dir, to))
	if err != nil {
		return fmt.Errorf("read what helm package wrote: %w", err)
	}
	packed, err := repack(raw, r.time, more...)
	if err != nil {
		return fmt.Errorf("pack the chart again: %w", err)
	}
	return r.write(to, packed)
}

// repack sorts the files of a chart and more of them, with Chart.yaml first as in Helm, and gives them the time at.
func repack(raw []byte, at time.Time, more ...file) ([]byte, error) {
	files, err := unzip(raw)
	if err != nil {
		return nil, err
	}
	files = append(files, more...)
	slices.SortFunc(files, func(a, b file) int {
		first := func(f file) bool { return strings.Count(f.name, "/") == 1 && strings.HasSuffix(f.name, "/Chart.yaml") }
		if first(a) != first(b) {
			if first(a) {
				return -1
			}
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	return zip(files, at)
}
