package dbcheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

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
	if ctx.Err() != nil {
		return dbfile.Info{}, context.Cause(ctx)
	}
	database, err := os.Open(path) // for reading only
	if err != nil {
		return dbfile.Info{}, fmt.Errorf("open snapshot: %w", err)
	}
	defer database.Close()
	content, err := json.Marshal(order(p))
	if err != nil {
		return dbfile.Info{}, err
	}
	var out, diagnosis = bounded{most: maxAnswer}, bounded{most: maxDiagnosis}
	child, err := command(ctx)
	if err != nil {
		return dbfile.Info{}, err
	}
	child.Stdout, child.Stderr, child.ExtraFiles = &out, &diagnosis, []*os.File{database}
	in, err := child.StdinPipe()
	if err != nil {
		return dbfile.Info{}, notChecked(err)
	}
	defer in.Close() // a child of a killed operator ends too, because the pipe closes
	if err := child.Start(); err != nil {
		if ctx.Err() != nil {
			return dbfile.Info{}, context.Cause(ctx)
		}
		return dbfile.Info{}, notChecked(err)
	}
	_, writeErr := in.Write(content)
	ended := errors.Join(writeErr, child.Wait())
	if ctx.Err() != nil {
		return dbfile.Info{}, context.Cause(ctx)
	}
	var a answer
	if err := json.Unmarshal(out.kept.Bytes(), &a); ended != nil || err != nil {
		return dbfile.Info{}, p.died(ended, diagnosis.kept.String())
	}
	if err := a.err(); err != nil {
		return dbfile.Info{}, fmt.Errorf("inspect snapshot %s: %w", path, err)
	}
	return a.Info, nil
}

// command returns this program as a child without any variable of the environment.
func command(ctx context.Context) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, notChecked(err)
	}
	child := exec.CommandContext(ctx, program, Command)
	child.Env = []string{} // no credentials
	return child, nil
}

// notChecked hides the kind of an error of the machine, so that a missing program is not taken for a missing object.
func notChecked(err error) error {
	return fmt.Errorf("%w: its process cannot be started: %s", dbfile.ErrNotChecked, err.Error())
}

// died returns why the child ended without an answer. Its own limit, or a fault, is the fault of the file. What the machine did
// to it is not.
func (p Process) died(ended error, diagnosis string) error {
	if ended == nil {
		ended = errors.New("its answer cannot be read")
	}
	line, _, _ := strings.Cut(diagnosis, "\n")
	if p.Memory > 0 && endedBy(ended, syscall.SIGKILL) || endedBy(ended, syscall.SIGBUS) || reported(ended) || strings.Contains(line, noThread) {
		return fmt.Errorf("%w: its process was ended by the node: %s: %s", dbfile.ErrNotChecked, ended.Error(), line)
	}
	return fmt.Errorf("%w: the process of the check, which may use %d MiB, ended without a result: %w: %s",
		dbfile.ErrTooLarge, p.Memory>>20, ended, line)
}

// noThread is what the runtime of Go writes if the Pod or the node has no process left.
const noThread = "failed to create new OS thread"

// endedBy reports whether a signal has ended the child. A child with a limit cannot cause SIGKILL itself, and SIGBUS means that its program
// cannot be read any more.
func endedBy(ended error, signal syscall.Signal) bool {
	var exit *exec.ExitError
	if !errors.As(ended, &exit) {
		return false
	}
	status, known := exit.Sys().(syscall.WaitStatus)
	return known && status.Signaled() && status.Signal() == signal
}

// reported reports whether the child itself could not do its work, for example because the machine refuses its limit.
func reported(ended error) bool {
	var exit *exec.ExitError
	return errors.As(ended, &exit) && exit.ExitCode() == 1
}

const (
	// maxAnswer is more than the longest answer: a thousand member IDs of 21 bytes each.
	maxAnswer    = 64 << 10
	maxDiagnosis = 4 << 10
)

// bounded keeps the first bytes that are written to it, so that no child fills the memory of the operator.
type bounded struct {
	most int
	kept bytes.Buffer
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.most - b.kept.Len(); room > 0 {
		b.kept.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
