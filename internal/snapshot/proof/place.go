package proof

import (
	"context"
	"errors"
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// Room is the space in a directory that a reader has reserved. A spool.Share is a Room.
type Room interface {
	// Grow makes room for that many bytes, of which some are written already. It does not wait.
	Grow(bytes, written int64) error
}

// RoomFunc is the Grow of a Room.
type RoomFunc func(bytes, written int64) error

// Grow makes room for that many bytes.
func (f RoomFunc) Grow(bytes, written int64) error { return f(bytes, written) }

// Place is where a snapshot is read to. Every byte is reserved in Room before it is written to Dir, because the object may be
// larger than its store states.
type Place struct {
	// Namespace whose turn the check of the database takes.
	Namespace string
	Dir       string
	Room      Room
	// CPU takes a turn of the processors, which the reader gives back while it waits for the store. If it is nil, there are no turns.
	CPU func(ctx context.Context) (leave func(), err error)
}

// Alone returns the place of a reader that shares the disk of dir with no other namespace, for example the seed. Only the size
// of the disk limits it.
func Alone(dir string) Place {
	return Place{Dir: dir, Room: RoomFunc(func(_, _ int64) error { return nil })}
}

// ErrTooLarge means that the object has more bytes than the spool can ever hold, although its announced size fits.
var ErrTooLarge = errors.New("the snapshot is larger than the spool volume")

// errNoRoom is a mistake of the caller.
var errNoRoom = errors.New("the reader has reserved no room for the snapshot")

// outgrown marks an error of a Room as ErrTooLarge if waiting does not help.
func outgrown(err error) error {
	if errors.Is(err, spool.ErrOverLimit) {
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return err
}

// slackEncoded is how many bytes an object may have for no content, such as headers and what a decoder reads ahead.
const slackEncoded = 64 << 20

// maxEncoded returns how many bytes of an encoded object are read for that many bytes of content. LZW may need 1.5 bytes for
// each byte. A body beyond it has no end, or pads its content.
func maxEncoded(content int64) int64 { return slackEncoded + 2*content }
