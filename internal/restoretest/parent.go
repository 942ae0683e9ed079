package restoretest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/etcd-suite/etcd-operator/internal/child"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

// Command is the first argument of the child process.
const Command = "restore-test"

// Try runs a trial in a child process with that many bytes of memory. 0 means no limit.
func Try(ctx context.Context, t dbfile.Trial, memory int64) (dbfile.KVHash, error) {
	return Process{Memory: memory}.Try(ctx, t)
}

// Process runs each restore in a child process of this program.
type Process struct {
	// Memory is the limit of the child in bytes. 0 means no limit.
	Memory int64
}

// order is what the child reads from its standard input. The end of the input ends the child.
type order struct {
	Trial  dbfile.Trial `json:"trial"`
	Memory int64        `json:"memory"`
}

// answer is what the child writes to its standard output.
type answer struct {
	Hash  dbfile.KVHash `json:"hash"`
	Error child.Text    `json:"error"`
	// Disk is true if the error is one of the local disk, and Memory if there was too little memory.
	Disk   bool `json:"disk"`
	Memory bool `json:"memory"`
}

// Try is dbfile.TryRestore in a child process. The error is dbfile.ErrMemory if the child exceeded its limit. Only an answer
// of the child is dbfile.ErrRefused: a process that cannot be started says nothing about the snapshot.
func (p Process) Try(ctx context.Context, t dbfile.Trial) (dbfile.KVHash, error) {
	content, err := json.Marshal(order{t, p.Memory})
	if err != nil {
		return dbfile.KVHash{}, err
	}
	test, err := child.New(ctx, Command, "TMPDIR="+os.TempDir())
	if err != nil {
		return dbfile.KVHash{}, err
	}
	in, err := test.StdinPipe()
	if err != nil {
		return dbfile.KVHash{}, fmt.Errorf("start the process of the restore test: %w", err)
	}
	defer in.Close() // a child of a killed operator ends too, because the pipe closes
	if err := test.Start(); err != nil {
		return dbfile.KVHash{}, fmt.Errorf("start the process of the restore test: %w", err)
	}
	_, writeErr := in.Write(content)
	waitErr := test.Wait()
	if ctx.Err() != nil {
		return dbfile.KVHash{}, context.Cause(ctx)
	}
	return p.read(test.Answer(), errors.Join(writeErr, waitErr), test.Diagnosis())
}

// read interprets how the child ended.
func (p Process) read(out []byte, ended error, diagnosis string) (dbfile.KVHash, error) {
	var a answer
	if err := json.Unmarshal(out, &a); ended == nil && err == nil {
		switch {
		case a.Disk:
			return a.Hash, fmt.Errorf("%w: %s", dbfile.ErrDisk, a.Error)
		case a.Memory:
			return a.Hash, fmt.Errorf("%w: %s", dbfile.ErrMemory, a.Error)
		case a.Error != "":
			return a.Hash, dbfile.Refused(errors.New(string(a.Error)))
		}
		return a.Hash, nil
	}
	return dbfile.KVHash{}, Died("restore test", p.Memory, ended, diagnosis)
}

// Died returns why a child process, which may use that many bytes of memory, ended without a result. diagnosis is the
// beginning of its standard error.
func Died(what string, memory int64, ended error, diagnosis string) error {
	// A Go process without memory ends in many ways: killed by the kernel, by its runtime, or by a fault in it.
	if ended == nil {
		ended = errors.New("its answer cannot be read")
	}
	line := child.Cause(diagnosis)
	// A full disk ends a goroutine of etcd that nothing can recover, for example the compaction.
	if err := dbfile.Fault(errors.New(line)); errors.Is(err, dbfile.ErrDisk) {
		return fmt.Errorf("the process of the %s ended without a result: %w: %w", what, ended, err)
	}
	return fmt.Errorf("%w: the process of the %s, which may use %d MiB, ended without a result: %w: %s",
		dbfile.ErrMemory, what, memory>>20, ended, line)
}
