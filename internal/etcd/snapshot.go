package etcd

import (
	"context"
	"io"
)

// Snapshot streams the member's database, the SHA-256 of it appended (32 bytes). The member keeps serving. The
// caller closes the stream.
func (c *Client) Snapshot(ctx context.Context) (io.ReadCloser, error) {
	response, err := c.client.SnapshotWithVersion(ctx)
	if err != nil {
		return nil, c.wrap("stream snapshot", err)
	}
	return response.Snapshot, nil
}
