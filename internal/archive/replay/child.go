package replay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/child"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/restoretest"
)

// Main is the child process. It replays what it reads from in, and writes its answer to out.
func Main(in io.Reader, out io.Writer) error {
	input := &input{from: bufio.NewReaderSize(in, 128<<10)}
	var j job
	if err := input.line(&j); err != nil {
		return fmt.Errorf("read the job of the replay: %w", err)
	}
	if err := restoretest.Limit(j.Memory); err != nil {
		return err
	}
	result, err := Replay(context.Background(), Options{
		Path: j.Path, Revision: j.Revision, Chain: j.Chain, Identities: j.Identities, FallbackTTL: j.FallbackTTL, CompactAfter: j.CompactAfter,
		Next: func(ctx context.Context) (*archive.Reader, error) { return input.next(ctx, j.Root) },
	})
	if errors.Is(err, errCutOff) {
		return err // the parent has ended, or reports why it has stopped
	}
	a := answer{Result: result, Error: child.TextOf(err)}
	if err != nil {
		fault := dbfile.Fault(err)
		a.Identity, a.Newer = errors.Is(err, codec.ErrIdentity), errors.Is(err, archive.ErrNewerFormat)
		a.Disk, a.Memory = errors.Is(fault, dbfile.ErrDisk), errors.Is(fault, dbfile.ErrMemory)
	}
	return json.NewEncoder(out).Encode(a)
}

// input is the standard input of the child. It is the store from which the segments are read, one after the other.
type input struct {
	from *bufio.Reader
	body *chunkReader
}

// line reads a line of JSON.
func (i *input) line(v any) error {
	text, err := i.from.ReadBytes('\n')
	if err != nil {
		return errCutOff
	}
	return json.Unmarshal(text, v)
}

// Get returns the bytes of the present segment.
func (i *input) Get(context.Context, string) (io.ReadCloser, error) { return i.body, nil }

// next opens the next segment. It must be the one that was chosen.
func (i *input) next(ctx context.Context, root string) (*archive.Reader, error) {
	var s segment
	if err := i.line(&s); err != nil {
		return nil, err
	}
	if s.Key == "" {
		return nil, io.EOF
	}
	i.body = &chunkReader{from: i.from}
	r, err := archive.OpenSegment(ctx, i, root, s.Key)
	if err != nil {
		return nil, err
	}
	if got := r.Header.Hash(); got != s.Hash {
		err := fmt.Errorf("%w: the header has SHA-256 %s, but that of the chosen segment has %s", archive.ErrCorrupt, got, s.Hash)
		return nil, errors.Join(&archive.RevisionError{Revision: r.Header.First, Key: s.Key, Err: err}, r.Close())
	}
	return r, nil
}
