package datadir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/etcd-suite/etcd-operator/internal/child"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/restoretest"
)

// Process applies the log in a child process of this program. The child has no credentials and connects to nothing.
type Process struct {
	// Memory is the limit of the child in bytes. 0 means no limit. etcd's index needs about 500 bytes for each key.
	Memory int64
}

// Apply is the function Apply in a child process. The error is ErrRefused if the directory cannot be used, dbfile.ErrMemory if the child needs more
// memory than it may use, and otherwise one of the disk.
func (p Process) Apply(ctx context.Context, o Order) (Result, error) {
	content, err := json.Marshal(job{o, p.Memory})
	if err != nil {
		return Result{}, err
	}
	process, err := child.New(ctx, Command, "TMPDIR="+os.TempDir())
	if err != nil {
		return Result{}, err
	}
	in, err := process.StdinPipe()
	if err != nil {
		return Result{}, fmt.Errorf("start the process that applies the log: %w", err)
	}
	defer in.Close() // the child ends with this process, because the pipe closes
	if err := process.Start(); err != nil {
		return Result{}, fmt.Errorf("start the process that applies the log: %w", err)
	}
	_, writeErr := in.Write(content)
	ended := errors.Join(writeErr, process.Wait())
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	var a answer
	if err := json.Unmarshal(process.Answer(), &a); ended == nil && err == nil {
		return a.Result, a.err()
	}
	return Result{}, restoretest.Died("log", p.Memory, ended, process.Diagnosis())
}

// err returns the error that the child had. Its text has that of its kind already.
func (a answer) err() error {
	switch {
	case a.Error == "":
		return nil
	case a.Refused:
		return said{string(a.Error), ErrRefused}
	case a.Memory:
		return said{string(a.Error), dbfile.ErrMemory}
	}
	return fmt.Errorf("%w: %s", dbfile.ErrDisk, a.Error)
}

type said struct {
	text string
	kind error
}

func (s said) Error() string { return s.text }
func (s said) Unwrap() error { return s.kind }
