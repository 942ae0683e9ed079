package restoretest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/etcd-suite/etcd-operator/internal/child"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

// Main is the child process. It calls exit if the parent has ended.
func Main(in io.Reader, out io.Writer, exit func(int)) error {
	var o order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return fmt.Errorf("read the job of the restore test: %w", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		exit(1)
	}()
	if err := Limit(o.Memory); err != nil {
		return err
	}
	hash, err := dbfile.TryRestore(context.Background(), o.Trial)
	a := answer{Hash: hash, Error: child.TextOf(err), Disk: errors.Is(err, dbfile.ErrDisk), Memory: errors.Is(err, dbfile.ErrMemory)}
	return json.NewEncoder(out).Encode(a)
}

// Limit makes allocations fail above that many bytes, which ends this process. The database is mapped into memory and does
// not count: the kernel can drop its pages at any time. If the container as a whole has too little memory, the kernel
// ends this process first.
func Limit(memory int64) error {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // not every kernel allows it
	if memory <= 0 {
		return nil
	}
	debug.SetMemoryLimit(memory - memory/8)
	if err := limitData(uint64(memory)); err != nil {
		return fmt.Errorf("limit the memory of this process to %d MiB: %w", memory>>20, err)
	}
	return nil
}
