package archiver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// uploader stores sealed segments one after the other, each until the store has it. It never gives up: the spool is on
// disk, and the watch waits when the spool is full.
type uploader struct {
	a     *Archiver
	queue chan *sealed
	done  chan struct{}
	err   error // valid when done is closed
	// cancel ends the uploads.
	cancel context.CancelFunc

	mu      sync.Mutex
	waiting int64         // bytes
	freed   chan struct{} // has an element after each upload
}

const (
	// maxQueue limits the number of segments, whose headers are in memory. MaxSpool limits their bytes.
	maxQueue = 256
	// behind is how many segments wait if the store is slow or fails. Then no further one is sealed because of its age: it would only wait.
	behind = 16
)

func (a *Archiver) startUploader(ctx context.Context) *uploader {
	ctx, cancel := context.WithCancel(ctx)
	u := &uploader{a: a, queue: make(chan *sealed, maxQueue), done: make(chan struct{}), cancel: cancel, freed: make(chan struct{}, 1)}
	go panics.Caught(func() {
		u.err = u.run(ctx)
		close(u.done)
	}, func(err error) {
		u.err = err
		close(u.done)
	})()
	return u
}

func (u *uploader) run(ctx context.Context) error {
	for s := range u.queue {
		if err := u.store(ctx, s); err != nil {
			return err
		}
		s.discard()
		u.add(-s.size)
		u.a.update(func(status *Status) {
			status.Segments++
			status.Bytes += s.size
			status.Stored, status.Timeline, status.Unbroken = s.header.To(), s.header.Timeline, s.header.Unbroken
			status.Progress = s.header.To()
			u.a.settle()
		})
		if u.a.Stored != nil {
			u.a.Stored()
		}
		select {
		case u.freed <- struct{}{}:
		default:
		}
	}
	return nil
}

func (u *uploader) add(bytes int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting += bytes
	u.a.update(func(s *Status) { s.Spooled = u.waiting })
}

func (u *uploader) full() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.waiting > u.a.MaxSpool || len(u.queue) == maxQueue
}

// isBehind reports whether several segments wait for the store.
func (u *uploader) isBehind() bool { return len(u.queue) >= behind }

// push hands over a segment. It waits while the queue is full.
func (u *uploader) push(ctx context.Context, s *sealed) error {
	select {
	case u.queue <- s: // also if ctx has ended
		return nil
	default:
	}
	select {
	case u.queue <- s:
		return nil
	case <-u.done:
		s.discard()
		return u.err
	case <-ctx.Done():
		s.discard()
		return context.Cause(ctx)
	}
}

// finish waits until all segments are stored, or ctx ends.
func (u *uploader) finish(ctx context.Context) error {
	close(u.queue)
	select {
	case <-u.done:
	case <-ctx.Done():
		u.cancel()
		<-u.done
	}
	return u.err
}

// store repeats an upload until it succeeds. Only this archiver's own object may have the key.
func (u *uploader) store(ctx context.Context, s *sealed) error {
	pause := u.a.RetryMin
	for {
		err := u.put(ctx, s)
		u.a.update(func(status *Status) { status.StoreError = err })
		if err == nil || errors.Is(err, ErrFenced) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
		pause = min(2*pause, u.a.RetryMax)
	}
}

func (u *uploader) put(ctx context.Context, s *sealed) error {
	f, err := os.Open(s.path)
	if err != nil {
		return fmt.Errorf("store segment %s: %w", s.key, err)
	}
	defer f.Close()
	err = u.a.Store.Put(ctx, s.key, body{f, s.size})
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	// The answer to an earlier attempt was lost, or another archiver has extended the chain.
	stored, err := archive.ReadHeader(ctx, u.a.Store, u.a.Root, s.key)
	switch {
	case errors.Is(err, archive.ErrCorrupt):
		return fmt.Errorf("%w with an object that cannot be read: %w", ErrFenced, err)
	case err != nil:
		return err
	case stored.Hash() != s.header.Hash():
		return fmt.Errorf("%w: it has stored %s", ErrFenced, s.key)
	}
	return nil
}

// settle moves Safe to the newest sight of which all revisions are stored. a.mu is held.
func (a *Archiver) settle() {
	for len(a.sights) > 0 && a.sights[0].revision <= a.status.Stored.Revision {
		a.status.Safe, a.sights = a.sights[0].at, a.sights[1:]
	}
}
