package etcd

import (
	"context"
	"crypto/sha256"
	"io"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// Snapshot streams the member's database followed by its SHA-256 (32 bytes). size is the sum of both, as the member
// announces it; 0 if the member does not announce it. The member keeps serving. The caller closes the stream.
//
// It replaces clientv3's Snapshot, which does not return the size, and whose pipe and copies took a fifth of the time of
// a save.
func (c Maintenance) Snapshot(ctx context.Context) (stream io.ReadCloser, size int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &snapshotStream{cancel: cancel}
	// A member refuses a stream with its first message.
	err = c.login.do(ctx, c.client.ActiveConnection(), func(ctx context.Context) (err error) {
		if s.messages, err = c.requestSnapshot(ctx); err == nil {
			err = s.next()
		}
		return err
	})
	if err != nil {
		cancel()
		return nil, 0, c.wrap("stream snapshot", err)
	}
	return s, announced(s.chunk), nil
}

// announced returns the size of the whole stream, from its first message. A size that no file has is unknown: as an int64 it could
// be negative.
func announced(first chunk) int64 {
	if first.remaining == 0 || first.remaining > mostBytes {
		return 0
	}
	return int64(len(first.blob)) + int64(first.remaining) + sha256.Size
}

// maxChunk limits a message of a snapshot. etcd sends 32 KiB in each.
const maxChunk = 1 << 20

func (c Maintenance) requestSnapshot(ctx context.Context) (grpc.ClientStream, error) {
	messages, err := c.client.ActiveConnection().NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, etcdserverpb.Maintenance_Snapshot_FullMethodName, grpc.MaxCallRecvMsgSize(maxChunk))
	if err != nil {
		return nil, err
	}
	if err := messages.SendMsg(&etcdserverpb.SnapshotRequest{}); err != nil {
		return nil, err
	}
	return messages, messages.CloseSend()
}

// snapshotStream reads the bytes of a stream of messages.
type snapshotStream struct {
	messages grpc.ClientStream
	chunk    chunk
	cancel   context.CancelFunc
}

func (s *snapshotStream) next() error { return s.messages.RecvMsg(&s.chunk) }

func (s *snapshotStream) Read(p []byte) (int, error) {
	for len(s.chunk.blob) == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.chunk.blob)
	s.chunk.blob = s.chunk.blob[n:]
	return n, nil
}

// Close ends the stream at any point.
func (s *snapshotStream) Close() error {
	s.cancel()
	return nil
}
