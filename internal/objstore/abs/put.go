package abs

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // Azure wants it, as a checksum on the way and for nothing secret
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"golang.org/x/sync/errgroup"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// A Put holds concurrency+1 blocks in memory. Azure takes 50 000 of them, so a body may have 195 GiB.
const (
	blockSize   = 4 << 20
	concurrency = 2
)

// Put stages body in blocks and commits them. A small body goes the same way: writing it in one request would be
// refused as long as blocks of a failed Put are there.
func (s *Store) Put(ctx context.Context, key string, body io.Reader) error {
	return s.wrap("put", key, s.put(ctx, key, &source{ctx, body}))
}

func (s *Store) put(ctx context.Context, key string, body io.Reader) error {
	client := s.client.NewBlockBlobClient(key)
	ids, err := stage(ctx, client, body)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	_, err = client.CommitBlockList(patiently(ctx), ids, &blockblob.CommitBlockListOptions{AccessConditions: create()})
	if bloberror.HasCode(err, bloberror.InvalidBlockList) && exists(ctx, client) {
		// A write of the same blob discards all uncommitted blocks: another writer was first.
		err = objstore.Mark(err, fs.ErrExist)
	}
	return err
}

// stage reads the body in this goroutine and uploads its blocks in others. It returns their IDs.
func stage(ctx context.Context, client *blockblob.Client, body io.Reader) ([]string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	free := make(chan []byte, concurrency+1)
	for range concurrency + 1 {
		free <- nil
	}
	name := rand.Text() // without it, writers of the same blob would replace each other's blocks
	var ids []string
	for last := false; !last; {
		var block []byte
		var err error
		select {
		case block = <-free:
			block, last, err = readBlock(body, block[:0])
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if err != nil {
			cancel()
			_ = group.Wait() // the cause is known
			return nil, err
		}
		if len(block) == 0 {
			break
		}
		attempt := ctx
		if len(ids) > 0 {
			attempt = patiently(ctx)
		}
		id := blockID(name, len(ids))
		ids = append(ids, id)
		group.Go(panics.InGroup(func() error {
			_, err := client.StageBlock(attempt, id, content(block), &blockblob.StageBlockOptions{TransactionalValidation: checksum(block)})
			free <- block
			return err
		}))
	}
	return ids, group.Wait()
}

// readBlock fills buffer with the next blockSize bytes. It grows in steps, so that a
// small body takes little memory. last: the body has ended.
func readBlock(body io.Reader, buffer []byte) (block []byte, last bool, err error) {
	for len(buffer) < blockSize {
		if len(buffer) == cap(buffer) {
			grown := make([]byte, len(buffer), min(blockSize, max(64<<10, 8*cap(buffer))))
			copy(grown, buffer)
			buffer = grown
		}
		n, err := body.Read(buffer[len(buffer):min(blockSize, cap(buffer))])
		buffer = buffer[:len(buffer)+n]
		if errors.Is(err, io.EOF) {
			return buffer, true, nil
		}
		if err != nil {
			return buffer, false, err
		}
	}
	return buffer, false, nil
}

// blockID has the same length for every block of every Put: Azure refuses others beside each other.
func blockID(name string, index int) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32([]byte(name), uint32(index)))
}

func content(block []byte) io.ReadSeekCloser { return streaming.NopCloser(bytes.NewReader(block)) }

// checksum lets Azure refuse a block that changed on its way.
func checksum(block []byte) blob.TransferValidationType {
	sum := md5.Sum(block) //nolint:gosec // see above
	return blob.TransferValidationTypeMD5(sum[:])
}

// create refuses to replace a blob.
func create() *blob.AccessConditions {
	anything := azcore.ETagAny
	return &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: &anything}}
}

func exists(ctx context.Context, client *blockblob.Client) bool {
	_, err := client.GetProperties(ctx, nil)
	return err == nil
}

func patiently(ctx context.Context) context.Context {
	return policy.WithRetryOptions(ctx, retryOptions(blockRetries))
}

// source ends with its context: the last bytes must not be sent after that.
type source struct {
	ctx  context.Context
	body io.Reader
}

func (s *source) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	n, err := s.body.Read(p)
	if err != nil && s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = objstore.Own(err)
	}
	return n, err
}
