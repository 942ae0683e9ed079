package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Start copies the start of a timeline.
func (c Copying) Start(ctx context.Context, t Timeline) (Start, error) {
	start, err := ReadStart(ctx, c.From, c.FromRoot, t)
	if err != nil {
		return start, fmt.Errorf("%w: %w", ErrCopySource, err)
	}
	content, err := c.content(ctx, StartKey(c.FromRoot, t))
	if err != nil {
		return start, err
	}
	err = c.To.Put(ctx, StartKey(c.ToRoot, t), objstore.NewMetadata(content))
	if !errors.Is(err, fs.ErrExist) {
		return start, err
	}
	return start, c.sameStart(ctx, start, t)
}

// SameStart returns an error if both locations have a start of this timeline, and the second one that of another archive. Then nothing is to be copied: timelines
// with other numbers are of another archive, too. What the first location does not return is not compared.
func (c Copying) SameStart(ctx context.Context, t Timeline) error {
	start, err := ReadStart(ctx, c.From, c.FromRoot, t)
	if err == nil {
		err = c.sameStart(ctx, start, t)
		if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrOtherCopy) {
			return nil
		}
		return err
	}
	if err = fmt.Errorf("%w: %w", ErrCopySource, err); Lacks(err) {
		return nil
	}
	return err
}
