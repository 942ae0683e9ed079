package etcd

import "context"

// HashKV returns the member's hash of its key-value store up to a revision, and the revision that the store is compacted
// to. Two hashes are comparable only if both revisions are equal. It fails if the revision is compacted. The member reads
// its whole database to compute the hash.
func (c *Client) HashKV(ctx context.Context, revision int64) (hash uint32, compactRevision int64, err error) {
	response, err := c.client.HashKV(ctx, c.endpoint, revision)
	if err != nil {
		return 0, 0, c.wrap("hash key-value store", err)
	}
	return response.Hash, response.CompactRevision, nil
}
