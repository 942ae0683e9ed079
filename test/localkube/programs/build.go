package programs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/etcd-suite/etcd-operator/test/localkube/download"
)

// heartbeat is the interval at which a long build prints its progress.
const heartbeat = 15 * time.Second

// Build builds those of the modules that are not in the cache, one after the
// other, and writes its progress to w.
func (c *Cache) Build(ctx context.Context, w io.Writer, modules []Module) error {
	missing, err := c.missing(modules)
	if err != nil || len(missing) == 0 {
		return err
	}
	fmt.Fprintln(w, announce(missing))
	estimate := newEstimate(missing)
	for _, m := range missing {
		if err := c.build(ctx, w, m, estimate); err != nil {
			return err
		}
		estimate.finished(m)
	}
	fmt.Fprintf(w, "all programs are built after %s; they are kept in %s\n", short(time.Since(estimate.begin)), c.root)
	return nil
}

func (c *Cache) missing(modules []Module) ([]Module, error) {
	var missing []Module
	for _, m := range modules {
		built, err := c.Built(m)
		if err != nil {
			return nil, err
		}
		if !built {
			missing = append(missing, m)
		}
	}
	return missing, nil
}

// announce describes what will be built and how long that may take.
func announce(missing []Module) string {
	var total time.Duration
	var names []string
	for _, m := range missing {
		total += m.Cold
		names = append(names, fmt.Sprintf("%s (%s)", m.Name, count(len(m.Programs), "program")))
	}
	return fmt.Sprintf("building once: %s. With an empty Go build cache this takes about %s on two cores.",
		strings.Join(names, ", "), short(total))
}

func (c *Cache) build(ctx context.Context, w io.Writer, m Module, estimate *estimate) error {
	unlock, err := c.lock(ctx, w, m)
	if err != nil {
		return err
	}
	defer unlock()
	if built, err := c.Built(m); err != nil || built {
		return err // another process built it while this one waited
	}
	dir, err := c.Dir(m)
	if err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(c.root, ".building-"+m.Name+"-")
	if err != nil {
		return fmt.Errorf("create a build directory for %s: %w", m.Name, err)
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	if m.NPM {
		err = c.installNPM(ctx, w, m, temporary)
	} else {
		err = c.compile(ctx, w, m, temporary, estimate)
	}
	if err != nil {
		return err
	}
	if err := os.Chmod(temporary, 0o755); err != nil {
		return fmt.Errorf("set the mode of the build directory of %s: %w", m.Name, err)
	}
	if err := os.Rename(temporary, dir); err != nil {
		return fmt.Errorf("move %s into the cache: %w", m.Name, err)
	}
	_, err = c.Bin()
	return err
}

// outputName is the name that go build gives a package's executable: the last
// element of the path that is not a major version.
func outputName(pkg string) string {
	base := path.Base(pkg)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" {
		return path.Base(path.Dir(pkg))
	}
	return base
}

func (c *Cache) compile(ctx context.Context, w io.Writer, m Module, out string, estimate *estimate) error {
	dir := filepath.Join(c.source, m.Name)
	// The caller's GOFLAGS and workspace must not change what is built.
	env := append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK=off")
	if err := download.Modules(ctx, w, download.Request{Dir: dir, Env: env, What: m.Name, Packages: m.packages()}); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-v", "-o", out + "/"}, arguments(m)...)...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("build %s: %w", m.Name, err)
	}
	p := &progress{w: w, module: m, begin: time.Now(), estimate: estimate}
	fmt.Fprintln(w, p.line())
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("build %s: %w", m.Name, err)
	}
	p.follow(stderr)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", m.Name, err, strings.Join(p.other, "\n"))
	}
	fmt.Fprintf(w, "built %s in %s\n", m.Name, short(time.Since(p.begin)))
	for _, p := range m.Programs {
		if err := os.Rename(filepath.Join(out, outputName(p.Package)), filepath.Join(out, p.File)); err != nil {
			return fmt.Errorf("name the program %s: %w", p.File, err)
		}
	}
	return nil
}

// lock ensures that only one process at a time builds a module. The kernel
// releases the lock when its holder ends, even if it is killed.
func (c *Cache) lock(ctx context.Context, w io.Writer, m Module) (func(), error) {
	if err := os.MkdirAll(c.root, 0o755); err != nil {
		return nil, fmt.Errorf("create the cache directory: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(c.root, "."+m.Name+".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock of %s: %w", m.Name, err)
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for reported := false; ; reported = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !reported {
			fmt.Fprintf(w, "another process is building %s; waiting until it is done\n", m.Name)
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, fmt.Errorf("wait for the lock of %s: %w", m.Name, ctx.Err())
		case <-tick.C:
		}
	}
}

// progress counts the packages that go build -v prints.
type progress struct {
	w        io.Writer
	module   Module
	begin    time.Time
	estimate *estimate
	mu       sync.Mutex
	compiled int
	other    []string // lines that are no package: the errors
}

func (p *progress) follow(r io.Reader) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				fmt.Fprintln(p.w, p.line())
			}
		}
	}()
	for lines := bufio.NewScanner(r); lines.Scan(); {
		p.note(lines.Text())
	}
	close(done)
}

func (p *progress) note(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case line != "" && !strings.ContainsAny(line, " \t") && !strings.HasPrefix(line, "#"):
		p.compiled++
	default:
		p.other = append(p.other, line)
	}
}

func (p *progress) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := fmt.Sprintf("building %s (%s) ... %s", p.module.Name, count(len(p.module.Programs), "program"), short(time.Since(p.begin)))
	if p.compiled > 0 {
		line += fmt.Sprintf(", %s compiled", count(p.compiled, "package"))
	}
	return line + "; " + p.estimate.left(p.module, time.Since(p.begin))
}

func short(d time.Duration) string {
	return d.Round(time.Second).String()
}
