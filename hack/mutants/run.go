package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// result is what became of a mutant.
type result string

const (
	invalid  result = "invalid" // it does not compile
	killed   result = "killed"
	survived result = "survived"
)

// limit ends the tests of a mutant that loops. Those without a mutant take seconds, and the simulations minutes.
const limit = "15m"

// run tests a mutant: first by the fast tests, and if these pass, by the slow ones.
func run(ctx context.Context, d drawn) (result, error) {
	overlay, err := overlaid(d)
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(filepath.Dir(overlay)) }()
	flags := []string{"test", "-overlay", overlay, "-short", "-failfast", "-vet=off", "-timeout", limit}
	skip := cmp.Or(d.planner.skip, d.planner.slow, "^$")
	found, err := gotest(ctx, slices.Concat(flags, []string{"-skip", skip, d.planner.tests}))
	if found != survived || err != nil || d.planner.slow == "" {
		return found, err
	}
	return gotest(ctx, slices.Concat(flags, []string{"-run", d.planner.slow, d.planner.tests}))
}

// overlaid writes the mutant and a file for go test -overlay.
func overlaid(d drawn) (path string, err error) {
	content, err := os.ReadFile(d.file)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	mutated, path := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	original, err := filepath.Abs(d.file)
	if err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: mutated}})
	return path, errors.Join(err, os.WriteFile(mutated, d.apply(content), 0o600), os.WriteFile(path, overlay, 0o600))
}

func gotest(ctx context.Context, args []string) (result, error) {
	var out bytes.Buffer
	command := exec.CommandContext(ctx, "go", args...)
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	switch exit := (*exec.ExitError)(nil); {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		return survived, nil
	case !errors.As(err, &exit):
		return "", fmt.Errorf("run go %v: %w", args, err)
	case bytes.Contains(out.Bytes(), []byte("[build failed]")):
		return invalid, nil
	}
	return killed, nil
}
