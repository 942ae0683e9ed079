package snapshot

import (
	"context"
	"io"

	"github.com/etcd-suite/etcd-operator/internal/pace"
)

// Measured ends the work of a context from pace.With if the member hardly sends. The transport of the stores measures what is sent to them, see
// pace.Send.
type Measured struct{ Source }

// Snapshot is that of Source.
func (m Measured) Snapshot(ctx context.Context) (io.ReadCloser, int64, error) {
	stream, size, err := m.Source.Snapshot(ctx)
	if err != nil {
		return nil, 0, err
	}
	return pace.Body(ctx, stream), size, nil
}
