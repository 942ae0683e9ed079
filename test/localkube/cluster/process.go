package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// A program is a process that keeps running after localkube ends.
type program struct {
	name   string   // name of its log
	unit   string   // its network namespace and cgroup
	mounts string   // shell script that creates its mounts, in a new mount namespace
	join   int      // process whose mount namespace it joins; 0 for none
	args   []string // file in the bin directory or PATH, and its arguments
}

// enter joins every cgroup in LK_CGROUPS and then executes the command, so the
// command and its children are never in the cgroups of their parent.
const enter = `for f in $LK_CGROUPS; do echo $$ > "$f" || exit 125; done; unset LK_CGROUPS; exec "$@"`

// A running is a program that this process started.
type running struct {
	program
	pid  int
	log  string
	done chan struct{} // closed when the program has ended
	err  error         // result of the program; valid after done is closed
}

// start starts the program. The program outlives this process; its cgroup is
// enough to find and end it.
func (c *Cluster) start(p program) (*running, error) {
	log := c.layout.log(p.name)
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", p.name, err)
	}
	defer out.Close()
	// The caller's context would end the program, which must outlive it.
	cmd := exec.CommandContext(context.Background(), "/bin/sh", append([]string{"-c", enter, p.name}, command(p)...)...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Env = []string{
		"PATH=" + c.bin + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/root",
		"TMPDIR=" + c.layout.control("tmp"),
		stateVariable + "=" + c.layout.state, // identifies the owner of the process
		"LK_CGROUPS=" + strings.Join(c.cgroups.procsFiles(p.unit), " "),
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	r := &running{program: p, pid: cmd.Process.Pid, log: log, done: make(chan struct{})}
	go func() {
		r.err = cmd.Wait()
		close(r.done)
	}()
	return r, nil
}

// command returns the command that starts the program in its namespaces. It uses
// nsenter because "ip netns exec" mounts a new /sys, which hides the cgroups.
func command(p program) []string {
	enter := []string{"nsenter", "--net=" + netnsPath(p.unit)}
	if p.join != 0 {
		enter = append(enter, fmt.Sprintf("--mount=/proc/%d/ns/mnt", p.join))
	}
	enter = append(enter, "--")
	if p.mounts != "" {
		enter = append(enter, "unshare", "--mount", "--propagation", "private", "--", "/bin/sh", "-euc", p.mounts+"\nexec \"$@\"", p.name)
	}
	return append(enter, p.args...)
}

// ended returns an error with the last lines of the log if the program has ended.
func (r *running) ended() error {
	select {
	case <-r.done:
		err := r.err
		if err == nil {
			err = errors.New("exit status 0")
		}
		return fmt.Errorf("%s ended: %w; the last lines of its log %s:\n%s", r.name, err, r.log, tail(r.log))
	default:
		return nil
	}
}

// tail returns the last lines of a file.
func tail(path string) string {
	const most = 3000
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > most {
		_, _ = file.Seek(-most, io.SeekEnd)
	}
	content, _ := io.ReadAll(file)
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	if len(lines) > 12 {
		lines = lines[len(lines)-12:]
	}
	return strings.Join(lines, "\n")
}

// execute runs a command and returns its standard output. If the command fails,
// the error contains its standard error.
func execute(ctx context.Context, input string, args ...string) (string, error) {
	path, err := findTool(args[0])
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Env = append(os.Environ(), "NO_PROXY=*") // all servers are on this machine
	cmd.Stdin = strings.NewReader(input)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err() // the errors of an interrupted command do not help
		}
		return "", fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return out.String(), nil
}

// owner returns the state directory with which a process of a local cluster was
// started, or "" if its environment has none.
func owner(pid int) (string, error) {
	environ, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "environ"))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the environment of process %d: %w", pid, err)
	}
	for _, entry := range strings.Split(string(environ), "\x00") {
		if value, ok := strings.CutPrefix(entry, stateVariable+"="); ok {
			return value, nil
		}
	}
	return "", nil
}
