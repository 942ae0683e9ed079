package podrunner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// process is one run of a container.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has ended
}

// start starts c and appends its output to the file log.
func (c child) start(log string, env []string) (*process, error) {
	for _, b := range c.Binds {
		if err := mountPoint(b.From, filepath.Join(c.Root, b.To)); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	output, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	p := &process{cmd: exec.Command(self, childCommand, string(text)), ended: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env, output, output
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a container: %w", err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// mountPoint creates an empty file if from is a file, or a directory if from is one.
func mountPoint(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.MkdirAll(to, 0o755)
	}
	err = errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, nil, 0o700)) // a program must be executable
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func (p *process) signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// exitCode returns the exit code of an ended process: 137 if it was killed.
func (p *process) exitCode() int32 {
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return 128 + int32(status.Signal())
	}
	return int32(p.cmd.ProcessState.ExitCode())
}
