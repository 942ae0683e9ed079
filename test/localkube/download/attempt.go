package download

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
)

// announcement is what the go command prints when it starts to download a module.
const announcement = "go: downloading "

// An attempt is one run of go list.
type attempt struct {
	Request
	cache string
	w     io.Writer
	begin time.Time

	mu      sync.Mutex
	started []module
	other   []string // lines that announce no download: the errors
}

// A module is what the go command announced: a path and a version.
type module struct{ path, version string }

func (m module) String() string { return m.path + " " + m.version }

// run ends with errStalled if nothing arrives for the time that the Request allows.
func (a *attempt) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-deps", "-f", ""}, a.Packages...)...)
	cmd.Dir, cmd.Env = a.Dir, a.Env
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 5 * time.Second
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("read the output of go list: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start go list: %w", err)
	}
	watched := make(chan struct{})
	go func() { defer close(watched); a.watch(ctx, cancel) }()
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		a.note(lines.Text())
	}
	err = cmd.Wait()
	stalled := errors.Is(context.Cause(ctx), errStalled)
	cancel(nil)
	<-watched
	switch {
	case err == nil:
		return nil
	case stalled:
		return fmt.Errorf("%w: nothing arrived for %s of %s", errStalled, a.Stall, a.waiting())
	}
	return fmt.Errorf("go list: %w\n%s", err, strings.Join(a.other, "\n"))
}

// watch cancels the attempt if neither a module starts nor a byte arrives for the time that the Request allows.
func (a *attempt) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(min(look, a.Stall/4))
	defer tick.Stop()
	moved, told := time.Now(), time.Now()
	before := a.arrived()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if arrived := a.arrived(); arrived != before {
				before, moved = arrived, now
			}
			if now.Sub(moved) >= a.Stall {
				cancel(errStalled)
				return
			}
			if now.Sub(told) >= heartbeat && before.modules > 0 {
				told = now
				fmt.Fprintf(a.w, "downloading %s ... %s, %d modules; now %s, nothing new for %s\n", a.What,
					now.Sub(a.begin).Round(time.Second), before.modules, a.waiting(), now.Sub(moved).Round(time.Second))
			}
		}
	}
}

func (a *attempt) note(line string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fields := strings.Fields(strings.TrimPrefix(line, announcement))
	if strings.HasPrefix(line, announcement) && len(fields) == 2 {
		a.started = append(a.started, module{path: fields[0], version: fields[1]})
		return
	}
	a.other = append(a.other, line)
}

// progress is what an attempt can be seen to do: modules that started and finished, and bytes of those that go on.
type progress struct {
	modules, finished int
	bytes             int64
}

func (a *attempt) arrived() progress {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := progress{modules: len(a.started)}
	for _, m := range a.started {
		if a.done(m) {
			p.finished++
			continue
		}
		// The go command writes a module to <version>.zip<random>.tmp, and renames it at the end.
		parts, _ := filepath.Glob(a.archive(m) + "*.tmp")
		for _, part := range parts {
			if info, err := os.Stat(part); err == nil {
				p.bytes += info.Size()
			}
		}
	}
	return p
}

func (a *attempt) finished() int { return a.arrived().finished }

// waiting names the modules that started and have not arrived, at most three.
func (a *attempt) waiting() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var names []string
	for _, m := range a.started {
		if !a.done(m) {
			names = append(names, m.String())
		}
	}
	switch {
	case len(names) == 0:
		return "the list of modules"
	case len(names) > 3:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}

func (a *attempt) done(m module) bool {
	_, err := os.Stat(a.archive(m))
	return !errors.Is(err, fs.ErrNotExist)
}

// archive is the file of a finished module. Go's module cache writes "!a" for "A".
func (a *attempt) archive(m module) string {
	return filepath.Join(a.cache, "cache", "download", escape(m.path), "@v", escape(m.version)+".zip")
}

func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsUpper(r) {
			b.WriteRune('!')
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// look is the interval at which the arrived bytes are counted.
const look = time.Second

// heartbeat is the interval at which a long download prints its progress.
const heartbeat = 15 * time.Second

// A Request names the packages whose modules are needed.
type Request struct {
	Dir      string        // the directory in which the go command runs
	Env      []string      // the go command's environment; empty is that of this process
	What     string        // what the modules are for, in the progress: "kubernetes"
	Packages []string      // arguments of go list: flags and package patterns
	Stall    time.Duration // 0 is one minute
}

// errStalled is the cause of an attempt that was ended because nothing arrived.
var errStalled = errors.New("the download stalled")
