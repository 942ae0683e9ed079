package datadir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/etcd-suite/etcd-operator/internal/child"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/restoretest"
)

// Command is the first argument of the child process.
const Command = "apply-log"

// Every program that links this package is its own child. A program or a test that forgot to be one would start itself again instead.
func init() {
	if len(os.Args) < 2 || os.Args[1] != Command {
		return
	}
	code := 0
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code) //nolint:forbidigo // this process is the child and does nothing else
}

// job is what the child reads from its standard input. The end of the input ends the child.
type job struct {
	Order
	Memory int64 `json:"memory"`
}

// answer is what the child writes to its standard output.
type answer struct {
	Result Result     `json:"result"`
	Error  child.Text `json:"error,omitempty"`
	// Refused is true if the error is about the directory, and Memory if there was too little memory. Otherwise it is one of the disk.
	Refused bool `json:"refused,omitempty"`
	Memory  bool `json:"memory,omitempty"`
}

// serve is the child process.
func serve(in io.Reader, out io.Writer) error {
	var j job
	if err := json.NewDecoder(in).Decode(&j); err != nil {
		return fmt.Errorf("read what to apply: %w", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		os.Exit(1) //nolint:forbidigo // the parent has ended
	}()
	if err := restoretest.Limit(j.Memory); err != nil {
		return err
	}
	result, err := Apply(context.Background(), j.Order)
	a := answer{Result: result, Error: child.TextOf(err), Refused: errors.Is(err, ErrRefused)}
	a.Memory = err != nil && !a.Refused && errors.Is(dbfile.Fault(err), dbfile.ErrMemory)
	return json.NewEncoder(out).Encode(a)
}
