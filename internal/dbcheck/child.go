package dbcheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/child"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/restoretest"
)

// Command is the first argument of the child process.
const Command = "check-database"

// Every program that links this package is its own child. An operator, a seed or a test that forgot to be one would start itself
// again instead.
func init() {
	if len(os.Args) < 2 || os.Args[1] != Command {
		return
	}
	code := 0
	if err := serve(os.Stdin, os.NewFile(databaseFile, "snapshot"), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code) //nolint:forbidigo // this process is the child and does nothing else
}

// The numbers of the open files of the child: the one that it reads is the first after standard input, output and error. It has the others only if it
// extracts keys.
const (
	databaseFile = 3 + iota
	valuesFile
	indexFile
)

// order is what the child reads from its standard input. The end of the input ends the child.
type order struct {
	Memory int64 `json:"memory"`
	// Prefixes of the keys to extract. If there is none, the child checks the database.
	Prefixes []string `json:"prefixes,omitempty"`
}

// answer is what the child writes to its standard output.
type answer struct {
	Info  dbfile.Info `json:"info"`
	Error child.Text  `json:"error,omitempty"`
	// Kind is the index in kinds of what the error is, from 1; 0 means another error, which is one of the local disk.
	Kind int `json:"kind,omitempty"`
}

// kinds are the errors that concern the file.
var kinds = []error{dbfile.ErrNoTrailer, dbfile.ErrCorrupt, dbfile.ErrTooLarge}

// serve is the child process.
func serve(in io.Reader, database *os.File, out io.Writer) error {
	var o order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return fmt.Errorf("read the job of the check: %w", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		os.Exit(1) //nolint:forbidigo // the operator has ended
	}()
	if err := limit(o.Memory); err != nil {
		return err
	}
	stat, err := database.Stat()
	if err != nil {
		return fmt.Errorf("read the size of the snapshot: %w", err)
	}
	if len(o.Prefixes) > 0 {
		err := dbfile.Extract(database, stat.Size(), o.Prefixes, os.NewFile(valuesFile, "values"), os.NewFile(indexFile, "index"))
		return json.NewEncoder(out).Encode(answerOf(dbfile.Info{}, err))
	}
	info, err := dbfile.InspectReader(database, stat.Size())
	return json.NewEncoder(out).Encode(answerOf(info, err))
}

// limit makes allocations fail above that many bytes, which ends this process. 0 means no limit.
func limit(memory int64) error {
	if memory <= 0 {
		return restoretest.Limit(0)
	}
	within := memory - memory/margin
	if err := restoretest.Limit(mapped() + within); err != nil {
		return err
	}
	debug.SetMemoryLimit(within)
	return nil
}

const (
	// margin is the divisor of the memory that is left for what the runtime has mapped and not used.
	margin = 8
	// usuallyMapped is the data of an operator that has started.
	usuallyMapped = 96 << 20
)

// mapped returns how many bytes of data this process has mapped. The runtime has used few of them, and RLIMIT_DATA counts all.
func mapped() int64 {
	const data = 5 // the field in pages, see proc(5)
	content, err := os.ReadFile("/proc/self/statm")
	if fields := strings.Fields(string(content)); err == nil && len(fields) > data {
		if pages, err := strconv.ParseInt(fields[data], 10, 64); err == nil {
			return pages * int64(os.Getpagesize())
		}
	}
	return usuallyMapped
}

func answerOf(info dbfile.Info, err error) answer {
	if err == nil {
		return answer{Info: info}
	}
	a := answer{Error: child.TextOf(err)}
	for i, kind := range kinds {
		if errors.Is(err, kind) {
			a.Kind = i + 1
		}
	}
	return a
}

// err returns the error that the child had.
func (a answer) err() error {
	switch {
	case a.Error == "":
		return nil
	case a.Kind > 0 && a.Kind <= len(kinds):
		return checked{string(a.Error), kinds[a.Kind-1]}
	}
	return errors.New(string(a.Error))
}

// checked is an error of the child. Its text has that of its kind already.
type checked struct {
	text string
	kind error
}

func (c checked) Error() string { return c.text }
func (c checked) Unwrap() error { return c.kind }
