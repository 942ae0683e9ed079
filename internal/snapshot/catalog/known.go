package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"sync"

	"github.com/etcd-suite/etcd-operator/internal/bounded"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/panics"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// readers is how many manifests are read concurrently.
const readers = 8

// maxKnown is how many bytes of texts the manifests of one Known may have. Those that an operator writes have less than 1 KiB each.
const maxKnown = 128 << 20

// manifestBytes is what a manifest takes in memory besides its texts, in Known and in a Listing.
const manifestBytes = 1024

// Known holds the manifests that were read, by the key of the snapshot.
type Known map[string]Reading

// Reading is a manifest, or why it cannot be read.
type Reading struct {
	Manifest snapshot.Manifest
	Err      error
	// Gone means that the store was asked for the object of the manifest and answered that it does not exist. It is only known for
	// objects that a listing lacks.
	Gone bool

	size int // of its texts, in bytes
}

// Read reads the manifests that are not known yet. The error of one manifest is part of its Reading: an archived
// manifest, or one that was encrypted with a lost key, concerns no other snapshot. Read only fails if ctx has ended, or if the texts of all
// manifests need too much memory, with objstore.ErrListing or objstore.ErrMemory. They count to the Holding of ctx.
// A manifest that none of the signers has signed is an error, too.
func (k Known) Read(ctx context.Context, store objstore.Store, items []Item, by snapshot.Signers) error {
	var missing []Item
	for _, item := range items {
		if _, known := k[item.Key]; !known {
			missing = append(missing, item)
		}
	}
	found := make([]Reading, len(missing))
	held := k.held(objstore.HoldingOf(ctx))
	var group sync.WaitGroup
	for first := range min(readers, len(missing)) {
		last := first // that was begun
		group.Go(panics.Caught(func() {
			for ; last < len(missing); last += readers {
				if held.full() != nil {
					return
				}
				found[last] = readItem(ctx, store, missing[last], by)
				held.add(found[last])
			}
		}, func(err error) {
			for ; last < len(missing); last += readers {
				found[last].Err = err
			}
		}))
	}
	group.Wait()
	err := held.full()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		held.in.Return(held.added)
		return fmt.Errorf("read manifests: %w", err)
	}
	for i, item := range missing {
		k[item.Key] = found[i]
	}
	return nil
}

// Recount counts the manifests of the index to a Holding that counted Known before, and forgets all others. If they do not fit any more, it
// forgets all.
func (k Known) Recount(h *objstore.Holding, index Index) {
	h.Release()
	listed := make(map[string]bool, len(index.Items))
	for _, item := range index.Items {
		listed[item.Key] = true
	}
	for key, reading := range k {
		if !listed[key] {
			delete(k, key)
		} else if h.Add(reading.bytes()) != nil {
			clear(k)
			h.Release()
		}
	}
}

// bytes is what a reading takes in memory.
func (r Reading) bytes() int64 { return int64(r.size) + manifestBytes }

// budget counts the texts of manifests that are read concurrently.
type budget struct {
	in *objstore.Holding

	mutex sync.Mutex
	held  objstore.Held
	added int64 // to in
	err   error
}

func (k Known) held(in *objstore.Holding) *budget {
	b := &budget{in: in, held: objstore.Held{Max: math.MaxInt, Bytes: maxKnown}}
	for _, reading := range k {
		b.err = cmp.Or(b.err, b.held.Add(reading.size))
	}
	return b
}

func (b *budget) add(r Reading) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if errors.Is(r.Err, objstore.ErrMemory) || errors.Is(r.Err, objstore.ErrListing) { // while it was read
		b.err = cmp.Or(b.err, r.Err)
	}
	if b.err = cmp.Or(b.err, b.held.Add(r.size)); b.err != nil {
		return
	}
	if b.err = b.in.Add(r.bytes()); b.err == nil {
		b.added += r.bytes()
	}
}

func (b *budget) full() error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.err
}

// readItem reads the manifest of a snapshot. A manifest that describes another object is not valid. Neither is that of an object without bytes: it is
// no snapshot, and must not take the place of one.
func readItem(ctx context.Context, store objstore.Store, item Item, by snapshot.Signers) Reading {
	m, err := snapshot.ReadManifest(ctx, store, item.Key, by)
	if err == nil && (item.Listed || item.Size > 0) && item.Size != m.Size {
		err = fmt.Errorf("%w: it states another size than the object's: %d bytes, not %d", snapshot.ErrManifest, m.Size, item.Size)
	}
	reading := Reading{Manifest: m, Err: err, size: bounded.Size(m)}
	if err == nil && !item.Listed && item.Size == 0 {
		reading.Gone, reading.Err = objstore.Gone(ctx, store, item.Key)
	}
	return reading
}

// Unreadable reports whether the manifest exists and cannot be read.
func (r Reading) Unreadable() bool { return r.Err != nil && !r.Missing() }

// Missing reports whether the manifest was deleted after the listing.
func (r Reading) Missing() bool { return errors.Is(r.Err, fs.ErrNotExist) }

// StoreError returns the error of the store, and nil if the store delivered a manifest that is damaged, too new or not signed as required.
func (r Reading) StoreError() error {
	if errors.Is(r.Err, snapshot.ErrManifest) || errors.Is(r.Err, snapshot.ErrNewerFormat) || snapshot.OfSignature(r.Err) {
		return nil
	}
	return r.Err
}
