package programs

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// A stalled download must not hold a build: npm gives up on one request, and an attempt ends as a whole.
const (
	npmAttempts = 3
	npmDeadline = 5 * time.Minute
	npmGrace    = 10 * time.Second
)

// installNPM installs the packages of a package-lock.json into out, without their install scripts, and links the programs.
func (c *Cache) installNPM(ctx context.Context, w io.Writer, m Module, out string) error {
	list, sums := m.pins()
	for _, name := range []string{list, sums} {
		content, err := os.ReadFile(filepath.Join(c.source, m.Name, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(out, name), content, 0o600)
		}
		if err != nil {
			return fmt.Errorf("copy %s of %s: %w", name, m.Name, err)
		}
	}
	if err := npmCI(ctx, w, m, out); err != nil {
		return err
	}
	for _, p := range m.Programs {
		if err := os.Symlink(filepath.Join("node_modules", ".bin", p.Package), filepath.Join(out, p.File)); err != nil {
			return fmt.Errorf("name the program %s: %w", p.File, err)
		}
	}
	return nil
}

func npmCI(ctx context.Context, w io.Writer, m Module, dir string) error {
	var err error
	for attempt := 1; attempt <= npmAttempts; attempt++ {
		fmt.Fprintf(w, "installing %s by npm, attempt %d of %d\n", m.Name, attempt, npmAttempts)
		if err = npmOnce(ctx, dir); err == nil || ctx.Err() != nil {
			break
		}
		fmt.Fprintf(w, "%v\n", err)
	}
	if err != nil {
		return fmt.Errorf("install %s (is npm there? hack/deps.sh node installs it): %w", m.Name, err)
	}
	return nil
}

func npmOnce(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, npmDeadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error",
		"--fetch-timeout=30000", "--fetch-retries=5")
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = npmGrace
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return nil
}
