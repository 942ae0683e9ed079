package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	repositoryURL   = "https://github.com/etcd-suite/etcd-operator"
	versionVariable = "github.com/etcd-suite/etcd-operator/internal/operator.Version"
)

// An origin is the commit that the operators are compiled from.
type origin struct {
	revision string // with the suffix "-dirty" if the work tree has changes
	created  time.Time
}

// readOrigin reads the current commit from git. SOURCE_DATE_EPOCH overrides its time. Without a repository, as in a source
// archive, the revision is empty and the default time is the epoch.
func readOrigin(ctx context.Context) (origin, error) {
	o := origin{created: epoch}
	if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return o, fmt.Errorf("SOURCE_DATE_EPOCH %q is not a number of seconds", text)
		}
		o.created = time.Unix(seconds, 0).UTC()
	}
	head, ok := git(ctx, "log", "-1", "--format=%H %ct")
	if !ok {
		return o, nil
	}
	revision, committed, _ := strings.Cut(head, " ")
	o.revision = revision
	if seconds, err := strconv.ParseInt(committed, 10, 64); err == nil && o.created.Equal(epoch) {
		o.created = time.Unix(seconds, 0).UTC()
	}
	if changes, ok := git(ctx, "status", "--porcelain"); !ok || changes != "" {
		o.revision += "-dirty"
	}
	return o, nil
}

// git returns false if there is no git, no repository or no commit.
func git(ctx context.Context, args ...string) (string, bool) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	return strings.TrimSpace(string(out)), err == nil
}

// goBuild compiles packages for linux/arch into dir as static programs that do not depend on this machine. The flags are
// those of the Makefile, because other flags would compile all dependencies again.
func goBuild(ctx context.Context, arch, version, dir string, packages []string, stderr io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	args := append([]string{
		"build", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -X " + versionVariable + "=" + version,
		"-o", dir + string(filepath.Separator),
	}, packages...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0")
	cmd.Stdout, cmd.Stderr = stderr, stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("compile %s for linux/%s: go build: %w", strings.Join(packages, " "), arch, err)
	}
	return nil
}

func operatorStamp(name, version string, o origin) stamp {
	return stamp{
		title: name, description: "The " + name + " of the etcd operator suite",
		version: version, revision: o.revision, created: o.created,
		source: repositoryURL, licenses: "Apache-2.0",
	}
}

func tagOf(ref string) string {
	return ref[strings.LastIndex(ref, ":")+1:]
}
