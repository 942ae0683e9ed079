// Package download gets the Go modules that packages need before anything compiles them. It sees when a download has
// stalled, names it and starts it again. It uses the standard library only, so that it runs before anything is downloaded.
package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	// attempts is how often in a row a download may stall or fail before Modules gives up.
	attempts = 3
	// stall is the time in which nothing arrives before a download counts as stalled.
	stall = time.Minute
)

// Modules downloads the modules of the packages and of everything that they import. Finished modules stay in Go's module
// cache, so an attempt goes on where the one before it ended. It returns an error after three attempts in a row in which
// nothing was finished.
func Modules(ctx context.Context, w io.Writer, r Request) error {
	if r.Stall == 0 {
		r.Stall = stall
	}
	if len(r.Env) == 0 {
		r.Env = os.Environ()
	}
	cache, err := moduleCache(ctx, r)
	if err != nil {
		return err
	}
	for failed := 0; ; {
		a := &attempt{Request: r, cache: cache, w: w, begin: time.Now()}
		err := a.run(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if a.finished() > 0 {
			failed = 0
		}
		failed++
		mistake := len(a.started) == 0 && !errors.Is(err, errStalled) // in the packages; another try would not help
		if mistake || failed == attempts {
			return fmt.Errorf("download the modules of %s: %w\nTried %d times. Check the network and GOPROXY, then run the command again: what has arrived is kept",
				r.What, err, failed)
		}
		fmt.Fprintf(w, "%v; starting it again (try %d of %d)\n", err, failed+1, attempts)
	}
}

func moduleCache(ctx context.Context, r Request) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOMODCACHE")
	cmd.Dir, cmd.Env = r.Dir, r.Env
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("find Go's module cache: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
