package dbcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/etcd-suite/etcd-operator/internal/child"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

// Process checks each file in a child process of this program.
type Process struct {
	// Memory is the limit of the child in bytes. 0 means no limit.
	Memory int64
}

// Inspect is dbfile.Inspect in a child process. The error is dbfile.ErrTooLarge if the child exceeded its limit or the file made
// it end, and dbfile.ErrNotChecked if it could not run: that says nothing about the file.
func (p Process) Inspect(ctx context.Context, path string) (dbfile.Info, error) {
	info, err := p.run(ctx, path, order{Memory: p.Memory})
	if err != nil {
		return dbfile.Info{}, err
	}
	return info, nil
}

// Extract is dbfile.Extract in a child process, with the errors of Inspect.
func (p Process) Extract(ctx context.Context, path string, prefixes []string, values, index *os.File) error {
	_, err := p.run(ctx, path, order{Memory: p.Memory, Prefixes: prefixes}, values, index)
	return err
}

// run starts a child that reads the file at path and may write to the others.
func (p Process) run(ctx context.Context, path string, o order, others ...*os.File) (dbfile.Info, error) {
	if ctx.Err() != nil {
		return dbfile.Info{}, context.Cause(ctx)
	}
	database, err := os.Open(path) // for reading only
	if err != nil {
		return dbfile.Info{}, fmt.Errorf("open snapshot: %w", err)
	}
	defer database.Close()
	content, err := json.Marshal(o)
	if err != nil {
		return dbfile.Info{}, err
	}
	check, err := child.New(ctx, Command)
	if err != nil {
		return dbfile.Info{}, notChecked(err)
	}
	check.ExtraFiles = append([]*os.File{database}, others...)
	in, err := check.StdinPipe()
	if err != nil {
		return dbfile.Info{}, notChecked(err)
	}
	defer in.Close() // a child of a killed operator ends too, because the pipe closes
	if err := check.Start(); err != nil {
		if ctx.Err() != nil {
			return dbfile.Info{}, context.Cause(ctx)
		}
		return dbfile.Info{}, notChecked(err)
	}
	_, writeErr := in.Write(content)
	ended := errors.Join(writeErr, check.Wait())
	if ctx.Err() != nil {
		return dbfile.Info{}, context.Cause(ctx)
	}
	var a answer
	if err := json.Unmarshal(check.Answer(), &a); ended != nil || err != nil {
		return dbfile.Info{}, p.died(ended, check.Diagnosis())
	}
	if err := a.err(); err != nil {
		return dbfile.Info{}, fmt.Errorf("inspect snapshot %s: %w", path, err)
	}
	return a.Info, nil
}

// notChecked hides the kind of an error of the machine, so that a missing program is not taken for a missing object.
func notChecked(err error) error {
	return fmt.Errorf("%w: its process cannot be started: %s", dbfile.ErrNotChecked, err.Error())
}

// died returns why the child ended without an answer. Only its own limit and its own fault are the fault of the file. What else ends it, the
// machine did: each signal, and each refusal of the kernel.
func (p Process) died(ended error, diagnosis string) error {
	if ended == nil {
		ended = errors.New("its answer cannot be read")
	}
	line := child.Cause(diagnosis)
	if !p.byTheFile(ended, diagnosis) {
		return fmt.Errorf("%w: its process was ended by the node: %s: %s", dbfile.ErrNotChecked, ended.Error(), line)
	}
	return fmt.Errorf("%w: the process of the check, which may use %d MiB, ended without a result: %w: %s",
		dbfile.ErrTooLarge, p.Memory>>20, ended, line)
}

// faults are what the runtime of Go writes if the file asked for too much memory or led the check to a fault.
var faults = []string{"out of memory", "cannot allocate memory", "stack exceeds", "panic:", "unexpected fault address", "SIGSEGV"}

// byTheFile reports whether the file has ended the child. Without a limit of its own, too much memory ends it by SIGKILL.
func (p Process) byTheFile(ended error, diagnosis string) bool {
	var exit *exec.ExitError
	if !errors.As(ended, &exit) {
		return false
	}
	if status, known := exit.Sys().(syscall.WaitStatus); known && status.Signaled() {
		return p.Memory == 0 && status.Signal() == syscall.SIGKILL
	}
	const ofTheRuntime = 2 // the exit code of a fatal error or a panic
	return exit.ExitCode() == ofTheRuntime && slices.ContainsFunc(faults, func(fault string) bool { return strings.Contains(diagnosis, fault) })
}
