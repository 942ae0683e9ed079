package etcd

import "context"

// HashKV is the member's hash of all that its key-value store holds up to a revision, and the revision that the
// store is compacted to: two hashes are of the same only where both revisions are. It fails where the revision is
// compacted away. The member reads its whole database for it.
func (c *Client) HashKV(ctx context.Context, revision int64) (hash uint32, compactRevision int64, err error) {
	response, err := c.client.HashKV(ctx, c.endpoint, revision)
	if err != nil {
		return 0, 0, c.wrap("hash of the key-value store", err)
	}
	return response.Hash, response.CompactRevision, nil
}
