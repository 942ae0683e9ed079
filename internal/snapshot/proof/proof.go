// Package proof reads a snapshot whole and proves that it is a database that etcd can open: while it is saved, when it is fetched, and in a
// restore test. What it reads is kept in a directory in which every byte was reserved before.
package proof

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbcheck"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/panics"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// Facts are the verified properties of a snapshot.
type Facts struct {
	dbfile.Info
	SHA256 string // of the whole snapshot, 64 hex digits
	Object Object
	// Captured is when the source had begun to send; zero if unknown.
	Captured time.Time
}

// Lists reports whether the snapshot lists one of the members.
func (f Facts) Lists(members []uint64) bool {
	return slices.ContainsFunc(members, func(id uint64) bool { return slices.Contains(f.MemberIDs, id) })
}

// Object has the properties of the stored object, which are those of the snapshot if it is plain.
type Object struct {
	codec.Encoding
	Size   int64
	SHA256 string
}

const drainSize = 256 << 10

// Proof is a reader that verifies a snapshot while it is read. It writes all bytes to the spool and the trailer's
// SHA-256. It returns io.EOF only if the trailer and the structure of the database are right; otherwise it returns an
// error at the end, so that a store does not complete the upload.
type Proof struct {
	source    io.Reader
	spool     *os.File
	check     func() (dbfile.Info, error) // of the structure of the database in the spool
	Progress  func(int64)                 // may be nil
	Announced int64                       // announced by the source, or 0
	Judge     func(Facts) error           // may be nil
	Ended     func() error                // called when the snapshot is proven, before Read returns io.EOF; may be nil
	again     bool                        // skip the structure of the database: see FetchAgain
	Room      Room                        // of the spool
	// Captured is when the source had begun to send; zero if unknown.
	Captured time.Time

	trailer *dbfile.Trailer
	Proven  bool
	Facts   Facts
	err     error // the last error of Read; all later calls return it
}

// New returns the proof of what source returns. The check of the structure waits for the turn of the namespace, and ends with ctx.
func New(ctx context.Context, namespace string, source io.Reader, spool *os.File) *Proof {
	return &Proof{
		source: source, spool: spool, trailer: dbfile.NewTrailer(),
		check: func() (dbfile.Info, error) {
			info, err := dbcheck.Inspect(ctx, namespace, spool.Name())
			if ctx.Err() == nil {
				err = ofCheck(err)
			}
			return info, err
		},
	}
}

// SizeHint lets a store choose its part size.
func (p *Proof) SizeHint() int64 { return p.Announced }

// Size lets a store send the snapshot in one request.
func (p *Proof) Size() int64 { return p.Announced }

// Reread returns the spool, from which a store can read the bytes again.
func (p *Proof) Reread() io.ReaderAt { return p.spool }

// Read fills b even if the source returns less per call, because large writes to the spool are faster.
func (p *Proof) Read(b []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	n, err := fill(p.source, b)
	if failed := p.reserve(int64(n)); failed != nil {
		p.err = failed
		return 0, p.err
	}
	if n > 0 {
		if diskErr := p.take(b[:n]); diskErr != nil {
			p.err = diskError(fmt.Errorf("spool snapshot: %w", diskErr))
			return 0, p.err
		}
		if p.Progress != nil {
			p.Progress(p.trailer.Size())
		}
	}
	if errors.Is(err, io.EOF) {
		err = p.finish()
	} else if err != nil {
		err = fmt.Errorf("%w after %d bytes: %w", snapshot.ErrSource, p.trailer.Size(), err)
	}
	p.err = err
	return n, err
}

// reserve reserves space for n more bytes. Usually the whole snapshot has it already.
func (p *Proof) reserve(n int64) error {
	return p.Room.Grow(p.trailer.Size()+n, p.trailer.Size())
}

// take writes b to the spool and the SHA-256 concurrently, because both take about as long.
func (p *Proof) take(b []byte) error {
	var failed error
	summed := make(chan struct{})
	go panics.Caught(func() {
		_, failed = p.trailer.Write(b)
		close(summed)
	}, func(err error) {
		failed = err
		close(summed)
	})()
	_, err := p.spool.Write(b)
	<-summed
	return cmp.Or(err, failed)
}

// fill reads until b is full.
func fill(r io.Reader, b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var read int
		read, err = r.Read(b[n:])
		n += read
	}
	return n, err
}

// Drain reads r to its end in blocks that suit a disk.
func Drain(r io.Reader) error {
	b := make([]byte, drainSize)
	for {
		if _, err := r.Read(b); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// finish returns io.EOF if the snapshot is valid.
func (p *Proof) finish() error {
	if err := p.trailer.Check(); err != nil {
		return err
	}
	info, err := p.inspect()
	if err != nil {
		return err
	}
	sum := p.trailer.SHA256()
	p.Facts = Facts{Info: info, SHA256: hex.EncodeToString(sum[:]), Captured: p.Captured}
	p.Facts.Object = Object{Size: info.Size, SHA256: p.Facts.SHA256}
	if p.Judge != nil {
		if err := p.Judge(p.Facts); err != nil {
			return err
		}
	}
	if p.Ended != nil {
		if err := p.Ended(); err != nil {
			return err
		}
	}
	p.Proven = true
	return io.EOF
}

func (p *Proof) inspect() (dbfile.Info, error) {
	if p.again {
		return dbfile.Info{Size: p.trailer.Size()}, nil
	}
	info, err := p.check()
	if err == nil && info.Size != p.trailer.Size() {
		err = diskError(fmt.Errorf("the spooled snapshot has %d bytes, and %d were written", info.Size, p.trailer.Size()))
	}
	return info, err
}

// ofCheck marks an error of the check as one of the local disk, unless its kind is known.
func ofCheck(err error) error {
	for _, kind := range []error{dbfile.ErrCorrupt, dbfile.ErrNoTrailer, dbfile.ErrTooLarge, dbfile.ErrNotChecked} {
		if err == nil || errors.Is(err, kind) {
			return err
		}
	}
	return diskError(err)
}

// Failure returns why the snapshot is invalid, or nil if no error was found.
func (p *Proof) Failure() error {
	if p.Proven || p.err == nil {
		return nil
	}
	return p.err
}
