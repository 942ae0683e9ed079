package abs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/stall"
)

// maxBroken connections in a row are tolerated while a blob is read.
const maxBroken = 5

// Get opens key.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	ctx = stall.Object(ctx)
	response, err := s.client.NewBlockBlobClient(key).DownloadStream(ctx, nil)
	if err != nil {
		return nil, s.wrap("get", key, err)
	}
	// It continues after a broken connection, and only with the same version of the blob.
	body := response.NewRetryReader(ctx, &blob.RetryReaderOptions{MaxRetries: maxBroken})
	return &reading{body, s, key}, nil
}

// reading names the blob in errors.
type reading struct {
	io.ReadCloser
	store *Store
	key   string
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, r.store.wrap("get", r.key, err)
}

// List yields the blobs whose key begins with prefix.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		before := ""
		most := int32(objstore.PageSize)
		pages := s.client.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: &prefix, MaxResults: &most})
		for pages.More() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(objstore.Object{}, s.wrap("list", prefix, err))
				return
			}
			if page.Segment == nil {
				yield(objstore.Object{}, s.wrap("list", prefix, objstore.Own(errors.New("the answer is not a list of blobs"))))
				return
			}
			objects := make([]objstore.Object, len(page.Segment.BlobItems))
			for i, item := range page.Segment.BlobItems {
				objects[i] = objectOf(item)
			}
			page.Segment.BlobItems = nil // the pager holds the page
			next := ""
			if page.NextMarker != nil {
				next = *page.NextMarker
			}
			if err := objstore.HoldNames(ctx, objects, objstore.Object.Name, next); err != nil {
				yield(objstore.Object{}, err)
				return
			}
			for _, object := range objects {
				if object.Key < before {
					err := objstore.Own(errors.New("the list is not in byte order: accounts with a hierarchical namespace are not supported"))
					yield(objstore.Object{}, s.wrap("list", prefix, err))
					return
				}
				before = object.Key
				if !yield(object, nil) {
					return
				}
			}
		}
	}
}

func objectOf(item *container.BlobItem) objstore.Object {
	var o objstore.Object
	if item == nil {
		return o
	}
	if item.Name != nil {
		o.Key = *item.Name
	}
	if p := item.Properties; p != nil {
		if p.ContentLength != nil {
			o.Size = *p.ContentLength
		}
		if p.LastModified != nil {
			o.ModTime = *p.LastModified
		}
		o.Cold = p.AccessTier != nil && *p.AccessTier == container.AccessTierArchive
	}
	return o
}

// Delete removes key.
func (s *Store) Delete(ctx context.Context, key string) error {
	_, err := s.client.NewBlockBlobClient(key).Delete(ctx, nil)
	if err = s.wrap("delete", key, err); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
