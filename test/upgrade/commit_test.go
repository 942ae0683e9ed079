package upgrade

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/etcd-suite/etcd-operator/test/localkube/programs"
)

// operators are the names of the three images.
var operators = []string{"cluster-operator", "backup-operator", "restore-operator"}

// A commit is the suite at an earlier commit: its tree, and the images that its own hack/images builds. Both are kept in the cache, because
// they never change.
type commit struct {
	hash string
	dir  string
}

// resolve finds a commit of this repository.
func resolve(ctx context.Context, name string) (commit, error) {
	hash, err := command(ctx, root, "git", "rev-parse", "--verify", name+"^{commit}")
	if err != nil {
		return commit{}, fmt.Errorf("find commit %q of FROM: %w", name, err)
	}
	cache, err := programs.Root()
	if err != nil {
		return commit{}, err
	}
	hash = strings.TrimSpace(hash)
	return commit{hash: hash, dir: filepath.Join(cache, "commits", hash)}, nil
}

func (c commit) short() string { return c.hash[:12] }

// tag of its images. It begins with a letter, because Helm takes digits for a number.
func (c commit) tag() string { return "from-" + c.short() }

func (c commit) tree() string { return filepath.Join(c.dir, "tree") }

func (c commit) images() (files []string) {
	for _, name := range operators {
		files = append(files, filepath.Join(c.dir, "images", name+".tar"))
	}
	return files
}

// build builds the images, unless an earlier run has.
func (c commit) build(ctx context.Context) error {
	done := filepath.Join(c.dir, "images")
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	if err := os.RemoveAll(c.dir); err != nil {
		return fmt.Errorf("delete what an interrupted run left: %w", err)
	}
	if err := os.MkdirAll(c.tree(), 0o755); err != nil {
		return fmt.Errorf("create the directory of commit %s: %w", c.short(), err)
	}
	archive, unfinished := filepath.Join(c.dir, "tree.tar"), done+".unfinished"
	for _, step := range []struct {
		dir  string
		args []string
	}{
		{root, []string{"git", "archive", "--format=tar", "--output", archive, c.hash}},
		{c.tree(), []string{"tar", "-xf", archive}},
		{c.tree(), append([]string{"go", "run", "./hack/images", "--out", unfinished, "--version", c.tag()}, operators...)},
	} {
		if _, err := command(ctx, step.dir, step.args[0], step.args[1:]...); err != nil {
			return fmt.Errorf("build the images of commit %s: %w", c.short(), err)
		}
	}
	return os.Rename(unfinished, done)
}

// command runs a program and returns its output. Its error contains the output, too.
func command(ctx context.Context, dir, program string, args ...string) (string, error) {
	running := exec.CommandContext(ctx, program, args...)
	running.Dir = dir
	var output, problems bytes.Buffer
	running.Stdout, running.Stderr = &output, &problems
	if err := running.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s%s", program, strings.Join(args, " "), err, output.String(), problems.String())
	}
	return output.String(), nil
}
