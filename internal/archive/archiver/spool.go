package archiver

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/codec"
)

const (
	openPattern   = "open-*.records"
	sealedPattern = "sealed-*.segment"
)

// cleanSpool deletes the files of an earlier run.
func cleanSpool(dir string) error {
	var errs []error
	for _, pattern := range []string{openPattern, sealedPattern} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		errs = append(errs, err)
		for _, name := range names {
			errs = append(errs, os.Remove(name))
		}
	}
	return errors.Join(errs...)
}

// open is the segment that is being written. first is when its first event was received, by the clock of this process, or
// a time before that event was acknowledged. The times in the
// archive never go back, so they may be later: an archiver on another node had a clock that was ahead.
type open struct {
	file   *os.File
	writer *archive.Writer
	first  time.Time
}

func newOpen(dir string, chain archive.Chain, state auth.State, now time.Time) (*open, error) {
	f, err := os.CreateTemp(dir, openPattern)
	if err != nil {
		return nil, fmt.Errorf("spool a segment: %w", err)
	}
	return &open{f, archive.NewWriter(f, chain, state), now}, nil
}

// size is how many bytes are in the segment. There are none in nil.
func (o *open) size() int64 {
	if o == nil {
		return 0
	}
	return o.writer.Size()
}

func (o *open) discard() {
	_ = o.file.Close()
	_ = os.Remove(o.file.Name())
}

// sealed is a complete object on disk.
type sealed struct {
	path   string
	key    string
	header archive.Header
	size   int64
}

func (s *sealed) discard() { _ = os.Remove(s.path) }

// seal writes the object of a segment and deletes its records.
func (o *open) seal(dir, key string, encoder codec.Encoder, h archive.Header) (*sealed, error) {
	defer o.discard()
	f, err := os.CreateTemp(dir, sealedPattern)
	if err != nil {
		return nil, fmt.Errorf("spool a segment: %w", err)
	}
	s := &sealed{path: f.Name(), key: key}
	if _, err = o.file.Seek(0, io.SeekStart); err == nil {
		s.header, err = archive.WriteObject(f, encoder, h, o.file)
	}
	if err == nil {
		s.size, err = f.Seek(0, io.SeekCurrent)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		s.discard()
		return nil, fmt.Errorf("spool segment %s: %w", key, err)
	}
	return s, nil
}

// body is the object as an objstore.Rereader, so that a store needs no buffers to repeat a part.
type body struct {
	*os.File
	size int64
}

func (b body) Reread() io.ReaderAt { return b.File }
func (b body) Size() int64         { return b.size }
func (b body) SizeHint() int64     { return b.size }
