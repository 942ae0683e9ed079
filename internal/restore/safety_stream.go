package restore

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// stallTimeout is how long a read may wait for the next byte of a member. Without it, one member that hangs uses up the time
// of the attempt, and no other member is asked.
const stallTimeout = 30 * time.Second

var errStalled = errors.New("the member sent no data for 30 s")

// memberSource streams the snapshot of one member. The context of the attempt limits the whole time.
type memberSource struct {
	url string
	by  access
}

// Snapshot opens the stream.
func (m memberSource) Snapshot(ctx context.Context) (io.ReadCloser, int64, error) {
	member, err := m.by.open(m.url)
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	opened := &memberStream{member: member, ctx: ctx, cancel: cancel}
	var size int64
	err = opened.watched(func() (err error) { opened.body, size, err = member.Snapshot(ctx); return err })
	if err != nil {
		cancel(context.Canceled)
		member.Close()
		return nil, 0, err
	}
	return opened, size, nil
}

type memberStream struct {
	body   io.ReadCloser
	member *etcd.Client
	ctx    context.Context //nolint:containedctx // the stream owns it
	cancel context.CancelCauseFunc
}

func (m *memberStream) Read(p []byte) (n int, err error) {
	err = m.watched(func() (err error) { n, err = m.body.Read(p); return err })
	return n, err
}

func (m *memberStream) Close() error {
	defer m.member.Close()
	defer m.cancel(context.Canceled)
	return m.body.Close()
}

// watched ends the stream if the call takes longer than the timeout.
func (m *memberStream) watched(call func() error) error {
	timer := time.AfterFunc(stallTimeout, func() { m.cancel(errStalled) })
	defer timer.Stop()
	err := call()
	if err != nil && errors.Is(context.Cause(m.ctx), errStalled) {
		return errStalled
	}
	return err
}
