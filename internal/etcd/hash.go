package etcd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// HashKV returns the member's hash of its key-value store up to a revision, and the revision that the store is compacted
// to. Two hashes are comparable only if both revisions are equal. It fails if the revision is compacted. The member reads
// its whole database to compute the hash.
func (c Maintenance) HashKV(ctx context.Context, revision int64) (hash uint32, compactRevision int64, err error) {
	response, err := c.maintenance().HashKV(ctx, &pb.HashKVRequest{Revision: revision})
	if err != nil {
		return 0, 0, c.wrap("hash key-value store", clientv3.ContextError(ctx, err))
	}
	return response.Hash, response.CompactRevision, nil
}

// Corrupt reports whether etcd has raised the CORRUPT alarm for this member.
func (s Status) Corrupt() bool {
	own := fmt.Sprintf("memberID:%d ", uint64(s.MemberID))
	return slices.ContainsFunc(s.Errors, func(e string) bool {
		return strings.Contains(e, "CORRUPT") && strings.HasPrefix(e, own)
	})
}
