package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/child"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/restoretest"
)

// Command is the first argument of the child process.
const Command = "replay"

// ErrRefused means that the archive was read and cannot be replayed. The text names the revision.
var ErrRefused = errors.New("the archive cannot be replayed")

// Process replays in a child process of this program, because etcd's index needs about 500 bytes of memory for each key. The
// child has no credentials and connects to nothing: this process reads the segments and sends them to its standard input.
type Process struct {
	// Memory is the limit of the child in bytes. 0 means no limit.
	Memory int64
}

// Order is a replay of links of an archive in a store.
type Order struct {
	// Options without Next.
	Options Options
	Store   objstore.Getter
	// Root of the archive.
	Root  string
	Links []archive.Link
	// Progress is called with the number of bytes that were read from the store; may be nil.
	Progress func(int64)
}

// job is the first line that the child reads from its standard input. A line with a segment and its bytes follow for each link.
type job struct {
	Path         string        `json:"path"`
	Revision     int64         `json:"revision"`
	Chain        archive.Chain `json:"chain"`
	Identities   []byte        `json:"identities,omitempty"`
	FallbackTTL  int64         `json:"fallbackTTL"`
	CompactAfter int64         `json:"compactAfter"`
	Root         string        `json:"root"`
	Memory       int64         `json:"memory"`
}

// segment is the line before the bytes of a segment. Without a key it ends the input.
type segment struct {
	Key  string `json:"key,omitempty"`
	Hash string `json:"hash,omitempty"` // of the header that was chosen
}

// answer is what the child writes to its standard output.
type answer struct {
	Result Result     `json:"result"`
	Error  child.Text `json:"error,omitempty"`
	// The kind of the error. It is ErrRefused if all are false.
	Disk     bool `json:"disk,omitempty"`
	Memory   bool `json:"memory,omitempty"`
	Identity bool `json:"identity,omitempty"`
	Newer    bool `json:"newer,omitempty"`
}

// Replay is the function Replay in a child process. The error of a store that does not return a segment is that of the store.
func (p Process) Replay(ctx context.Context, o Order) (Result, error) {
	process, err := child.New(ctx, Command, "TMPDIR="+os.TempDir())
	if err != nil {
		return Result{}, err
	}
	in, err := process.StdinPipe()
	if err != nil {
		return Result{}, fmt.Errorf("start the process of the replay: %w", err)
	}
	if err := process.Start(); err != nil {
		return Result{}, fmt.Errorf("start the process of the replay: %w", err)
	}
	fed := feed(ctx, in, o, p.Memory)
	_ = in.Close() // a child whose input ends too early ends with an error
	ended := process.Wait()
	var unreadable *storeError
	switch {
	case ctx.Err() != nil:
		return Result{}, context.Cause(ctx)
	case errors.As(fed, &unreadable):
		return Result{}, unreadable.error
	}
	var a answer
	if err := json.Unmarshal(process.Answer(), &a); ended == nil && err == nil {
		return a.Result, a.err()
	}
	return Result{}, restoretest.Died("replay", p.Memory, errors.Join(ended, fed), process.Diagnosis())
}

func (a answer) err() error {
	switch {
	case a.Error == "":
		return nil
	case a.Disk:
		return fmt.Errorf("%w: %s", dbfile.ErrDisk, a.Error)
	case a.Memory:
		return fmt.Errorf("%w: %s", dbfile.ErrMemory, a.Error)
	case a.Identity:
		return fmt.Errorf("%w: %s", codec.ErrIdentity, a.Error)
	case a.Newer:
		return fmt.Errorf("%w: %s", archive.ErrNewerFormat, a.Error)
	}
	return fmt.Errorf("%w: %s", ErrRefused, a.Error)
}

// storeError marks an error of the store, so that it is not taken for one of the pipe.
type storeError struct{ error }

// feed writes the job and all segments to the child. If the child has ended, its answer says more than the error.
func feed(ctx context.Context, in io.Writer, o Order, memory int64) error {
	lines := json.NewEncoder(in)
	err := lines.Encode(job{
		Path: o.Options.Path, Revision: o.Options.Revision, Chain: o.Options.Chain, Identities: o.Options.Identities,
		FallbackTTL: o.Options.FallbackTTL, CompactAfter: o.Options.CompactAfter, Root: o.Root, Memory: memory,
	})
	if err != nil {
		return err
	}
	read := int64(0)
	for _, link := range o.Links {
		if err := lines.Encode(segment{Key: link.Key, Hash: link.Header.Hash()}); err != nil {
			return err
		}
		n, err := send(ctx, in, o.Store, link)
		if err != nil {
			return err
		}
		if read += n; o.Progress != nil {
			o.Progress(read)
		}
	}
	return lines.Encode(segment{})
}

// send writes the object of one link in chunks.
func send(ctx context.Context, in io.Writer, store objstore.Getter, link archive.Link) (int64, error) {
	failed := func(err error) error {
		return &storeError{&archive.RevisionError{Revision: link.Header.First, Key: link.Key, Err: err}}
	}
	object, err := store.Get(ctx, link.Key)
	if err != nil {
		return 0, failed(err)
	}
	defer object.Close()
	out := &chunkWriter{to: in}
	buffer := make([]byte, 64<<10)
	n := int64(0)
	for {
		read, err := object.Read(buffer)
		n += int64(read)
		if written := out.write(buffer[:read]); written != nil {
			return n, written
		}
		if errors.Is(err, io.EOF) {
			return n, out.end()
		}
		if err != nil {
			return n, failed(err)
		}
	}
}
