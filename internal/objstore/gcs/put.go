package gcs

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"sync/atomic"
	"time"

	"cloud.google.com/go/storage"
	"github.com/googleapis/gax-go/v2"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

const (
	// chunkSize is the size of the buffer of one Put, from which a chunk can be sent again.
	chunkSize = 8 << 20
	// chunkUnit divides the size of each chunk.
	chunkUnit = 256 << 10
	// oneRequest is the largest body that is sent again as a whole, if it can be read again. It takes no buffer.
	oneRequest = 16 << 20
)

// chunkDeadline limits all attempts of one chunk together. In each of them the store may be silent until the stall limit.
const chunkDeadline = 5 * time.Minute

// Put uploads body in chunks of one resumable upload. A small body that can be read again is sent in one request, because hundreds of
// archives may have one at the same time, and the library has a buffer for each chunk.
func (s *Store) Put(ctx context.Context, key string, body io.Reader) error {
	return s.wrap(ctx, "put", key, s.put(ctx, key, body))
}

func (s *Store) put(ctx context.Context, key string, body io.Reader) error {
	if again, is := body.(objstore.Rereader); is && 0 < again.Size() && again.Size() <= oneRequest {
		return s.putOne(ctx, key, body, again)
	}
	_, metadata := body.(objstore.Metadata)
	return s.upload(ctx, key, &source{ctx: ctx, body: body, sum: newSum()}, chunkFor(body), metadata)
}

// chunkFor returns the size of the chunks of a body. The library allocates a whole one, also for a small body.
func chunkFor(body io.Reader) int {
	small, is := body.(interface{ Len() int })
	if !is {
		return chunkSize
	}
	return min((small.Len()/chunkUnit+1)*chunkUnit, chunkSize)
}

// putOne sends a body in one request, and again if that may help. It reads the body to its end first, because that may be the end of its proof.
func (s *Store) putOne(ctx context.Context, key string, body io.Reader, again objstore.Rereader) error {
	whole := &source{ctx: ctx, body: body, sum: newSum()}
	if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, whole, make([]byte, chunkUnit)); err != nil {
		return err
	}
	pause := backoff
	for attempt := 1; ; attempt++ {
		sent := &source{ctx: ctx, body: io.NewSectionReader(again.Reread(), 0, whole.size), sum: newSum()}
		err := s.upload(ctx, key, sent, 0, false)
		if err == nil || attempt == attempts || sent.err != nil || !storage.ShouldRetry(err) {
			return err
		}
		if err := gax.Sleep(ctx, pause.Pause()); err != nil {
			return context.Cause(ctx)
		}
	}
}

func newSum() hash.Hash32 { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }

// upload sends a body in chunks of that size, and in one request if that is 0.
func (s *Store) upload(ctx context.Context, key string, source *source, chunk int, metadata bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	// An upload ignores the client's number of attempts, so count them here. Each successful chunk resets the count.
	var failures, allowed atomic.Int32
	allowed.Store(attempts)
	retry := storage.WithErrorFunc(func(err error) bool {
		return storage.ShouldRetry(err) && failures.Add(1) < allowed.Load()
	})
	w := s.client.Bucket(s.bucket).Object(key).Retryer(retry).If(storage.Conditions{DoesNotExist: true}).NewWriter(ctx)
	w.ProgressFunc = func(int64) {
		failures.Store(0)
		allowed.Store(chunkAttempts)
	}
	w.ChunkSize, w.ChunkRetryDeadline = chunk, chunkDeadline
	w.ContentType = "application/octet-stream"
	w.KMSKeyName, w.StorageClass = s.kmsKeyName, s.storageClass
	if metadata {
		w.StorageClass = ""
	}
	_, err := io.Copy(w, source)
	if err == nil {
		if err = w.Close(); err != nil {
			return err
		}
		return s.check(ctx, w.Attrs(), source)
	}
	// End the upload first, because Close would create an object from what was written so far.
	cancel()
	closeErr := w.Close()
	if source.err != nil {
		return source.err
	}
	return errors.Join(err, closeErr)
}

// check compares size and checksum of the object with those of the body, and deletes the object if they differ.
func (s *Store) check(ctx context.Context, has *storage.ObjectAttrs, sent *source) error {
	if has.Size == sent.size && has.CRC32C == sent.sum.Sum32() {
		return nil
	}
	err := objstore.Own(fmt.Errorf("the store has %d bytes with CRC32C %08x, but the body has %d with %08x", has.Size, has.CRC32C, sent.size, sent.sum.Sum32()))
	object := s.client.Bucket(s.bucket).Object(has.Name).If(storage.Conditions{GenerationMatch: has.Generation})
	return errors.Join(err, object.Delete(ctx))
}

// source is a body that records its own error, size and checksum.
type source struct {
	ctx  context.Context
	body io.Reader
	size int64
	sum  hash.Hash32
	err  error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	// The last bytes must not be sent after the context has ended.
	if ctxErr := s.ctx.Err(); ctxErr != nil {
		n, err = 0, ctxErr
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = objstore.Own(err)
		s.err = err
	}
	s.size += int64(n)
	_, _ = s.sum.Write(p[:n])
	return n, err
}
