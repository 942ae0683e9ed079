package archiver

import (
	"context"
	"errors"
	"fmt"
)

// end stores what the session has received, and ends its uploads. If the cluster is lost, the spool may have the only copy of the last
// changes. err is why the session has ended. If it is errCompacted, a gap follows.
func (s *session) end(ctx context.Context, err error) error {
	defer s.uploads.cancel()
	if errors.Is(err, errCompacted) || errors.Is(err, errReplaced) {
		// The cluster does not have these changes any more, so they are stored first.
		if stored := s.flush(ctx); stored != nil {
			return stored
		}
		limited, cancel := (drain{s.a, s.chain.Last}).stopLimit(ctx)
		defer cancel()
		if stored := s.uploads.finish(limited); stored != nil {
			return stored
		}
		if errors.Is(err, errReplaced) {
			return again(nil, "the members returned another cluster ID")
		}
		return s.a.gap(ctx, s.chain, s.a.compacted)
	}
	if failed := s.flush(ctx); failed != nil {
		err = fmt.Errorf("%w; and the last changes were not sealed: %s", err, failed.Error())
	}
	limited, cancel := (drain{s.a, s.chain.Last}).limit(ctx)
	defer cancel()
	return errors.Join(err, ignoreEnd(s.uploads.finish(limited)))
}

// errReplaced ends a session whose watch belongs to another cluster now.
var errReplaced = errors.New("the watch returns another cluster ID")
