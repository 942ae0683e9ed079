package abs

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"golang.org/x/sync/errgroup"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// Put stages body in blocks and commits them. A small body goes the same way: writing it in one request would be
// refused as long as blocks of a failed Put are there.
func (s *Store) Put(ctx context.Context, key string, body io.Reader) error {
	again, _ := body.(objstore.Rereader)
	return s.wrap("put", key, s.put(ctx, key, newBlocks(&source{ctx, body}, again)))
}

func (s *Store) put(ctx context.Context, key string, blocks *blocks) error {
	client := s.client.NewBlockBlobClient(key)
	ids, err := stage(ctx, client, blocks)
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
func stage(ctx context.Context, client *blockblob.Client, blocks *blocks) ([]string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(blocks.concurrency())
	name := rand.Text() // without it, writers of the same blob would replace each other's blocks
	var ids []string
	for last := false; !last; {
		var block block
		var err error
		block, last, err = blocks.next(ctx)
		if err != nil {
			cancel()
			_ = group.Wait() // the cause is known
			return nil, err
		}
		if block.size == 0 {
			break
		}
		attempt := ctx
		if len(ids) > 0 {
			attempt = patiently(ctx)
		}
		id := blockID(name, len(ids))
		ids = append(ids, id)
		group.Go(panics.InGroup(func() error {
			defer blocks.release(block)
			sum, err := block.checksum()
			if err == nil {
				_, err = client.StageBlock(attempt, id, block.content(), &blockblob.StageBlockOptions{TransactionalValidation: sum})
			}
			return err
		}))
	}
	return ids, group.Wait()
}

// blockID has the same length for every block of every Put: Azure refuses others beside each other.
func blockID(name string, index int) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32([]byte(name), uint32(index)))
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
