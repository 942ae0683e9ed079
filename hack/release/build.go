package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

const (
	repositoryURL = "https://github.com/etcd-suite/etcd-operator"
	chartDir      = "charts/etcd-operator"
	// clusterChart is the chart of one cluster, in charts. Its version is that of the release.
	clusterChart = "etcd-cluster"
	// releaseName is the name of the Helm release and of the namespace in install.yaml, README and all docs.
	releaseName = "etcd-operator"
)

var operators = []string{"cluster-operator", "backup-operator", "restore-operator"}

// A release is one directory with the files of a release. All of its files have the time of the commit.
type release struct {
	version string
	dir     string
	time    time.Time
}

func build(ctx context.Context, opts options, stdout io.Writer) error {
	version, err := chartVersion(filepath.Join(chartDir, "Chart.yaml"))
	if err != nil {
		return err
	}
	changelog, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return fmt.Errorf("read the changelog: %w", err)
	}
	text, err := notes(string(changelog), version, opts.tag)
	if err != nil {
		return err
	}
	r := release{version: version, dir: opts.out}
	if r.time, err = commitTime(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(r.dir); err != nil {
		return fmt.Errorf("empty %s: %w", r.dir, err)
	}
	if err := r.write("NOTES.md", []byte(text)); err != nil {
		return err
	}
	for _, step := range []func(context.Context, options) error{r.images, r.plugin, r.charts, r.manifests, r.sbom} {
		if err := step(ctx, opts); err != nil {
			return err
		}
	}
	sums, err := checksums(r.dir)
	if err != nil {
		return err
	}
	if err := r.write("SHA256SUMS", []byte(sums)); err != nil {
		return err
	}
	fmt.Fprint(stdout, sums)
	return nil
}

// images compiles the operators and packs them. The released programs are those in the images.
func (r release) images(ctx context.Context, _ options) error {
	args := []string{"run", "./hack/images", "--out", r.dir, "--keep", r.dir, "--arch", "amd64,arm64", "--version", r.version}
	if _, err := command(ctx, "go", append(args, operators...)...); err != nil {
		return err
	}
	for _, name := range operators {
		if err := os.Rename(r.path(name+".tar"), r.path(r.archive(name))); err != nil {
			return err
		}
		if err := r.checkVersion(ctx, r.path(name+"-linux-"+runtime.GOARCH)); err != nil {
			return err
		}
	}
	return nil
}

// checkVersion runs a program with --version. A misspelt linker flag has no other effect than a wrong version.
func (r release) checkVersion(ctx context.Context, program string) error {
	path, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	out, err := command(ctx, path, "--version")
	if err != nil {
		return err
	}
	if got := strings.TrimSpace(string(out)); got != r.version {
		return fmt.Errorf("%s reports version %q, but the release is %s", filepath.Base(program), got, r.version)
	}
	return nil
}

// archive is the file with the image of an operator, for all architectures.
func (r release) archive(operator string) string { return operator + "-" + r.version + "-image.tar" }

func (r release) chartFile() string { return "etcd-operator-" + r.version + ".tgz" }

func (r release) clusterChartFile() string { return clusterChart + "-" + r.version + ".tgz" }

func (r release) path(name string) string { return filepath.Join(r.dir, name) }

func (r release) write(name string, content []byte) error {
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(r.path(name), content, 0o644)
}

// commitTime is the time of all files. SOURCE_DATE_EPOCH overrides it.
func commitTime(ctx context.Context) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := command(ctx, "git", "log", "-1", "--format=%ct")
		if err != nil {
			return time.Time{}, fmt.Errorf("read the time of the commit (or set SOURCE_DATE_EPOCH): %w", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("the time %q is not a number of seconds", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// command returns the standard output of a program. Its error contains what the program wrote to standard error.
func command(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, errs.String())
	}
	return out, nil
}
