package seeder

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/standby"
	"github.com/etcd-suite/etcd-operator/internal/archive/switchover"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// A planned promotion waits for the end that the source stores when it takes no writes any more. A standby that has all up to that end claims it, by the decision in
// the store, before it serves. So neither the source nor another standby takes writes after that.

// errNotClaimed means that the standby follows again, because another party has decided, or the store does not answer.
var errNotClaimed = errors.New("the end of the source was not claimed")

const (
	// sourcePoll is how often a standby looks whether its source has stopped. When that has begun to stop, clients wait, and the standby looks each nearPoll.
	sourcePoll, nearPoll = time.Second, 200 * time.Millisecond
	// sourceLimit bounds each look, and how long a standby waits for the rest of an archive whose source has stopped.
	sourceLimit = 10 * time.Second
	// promotionNeeds is how many bytes must be free on the volume.
	promotionNeeds = 4 * walSize
)

// awaitSource ends the following when a planned promotion is asked for, and the standby has all up to the end of its source.
func (s *following) awaitSource(ctx context.Context, end context.CancelCauseFunc) {
	for ctx.Err() == nil {
		var users *auth.State
		poll := sourcePoll
		if s.promotionAsked() == v1beta2.FollowPromotePlanned {
			o, err := s.outlook(ctx)
			if o.End != nil && err == nil {
				end(errStopped)
				return
			}
			if o.Near && err == nil {
				poll = nearPoll
			}
			waits := ""
			if err != nil {
				waits = err.Error()
			}
			s.progress.waits(waits)
			var other *switchover.UsersError
			if errors.As(err, &other) {
				users = &other.Source
			}
		}
		s.users.Store(users)
		pause(ctx, poll)
	}
}

// outlook returns the end of the source. The standby may lack the last revisions up to it.
func (s *following) outlook(ctx context.Context) (o switchover.Outlook, err error) {
	ctx, cancel := context.WithTimeout(ctx, sourceLimit)
	defer cancel()
	has := s.progress.standby.Load()
	if has == nil || has.Base == "" {
		return o, nil
	}
	return switchover.Claimable(ctx, s.options.Store, s.options.Root, claimant(s.request, *has))
}

func claimant(r seed.Request, has standby.Status) switchover.Standby {
	return switchover.Standby{Name: r.Follow.As, Holder: r.Token, Timeline: has.Timeline, Start: has.Start, Revision: has.Revision, Auth: has.Auth}
}

// claim decides in the store that this standby becomes the cluster, when it has exactly what its source had. The error is errNotClaimed if it does not.
func (s *following) claim(ctx context.Context, f *standby.Follower) error {
	o, err := s.outlook(ctx)
	if err != nil || o.End == nil || !s.reachesUnlessChanged(ctx, f, *o.End) {
		return errNotClaimed
	}
	if err := s.room(); err != nil { // after the decision, neither the source nor another standby may serve
		s.progress.waits(err.Error())
		pause(ctx, sourcePoll)
		return errNotClaimed
	}
	limited, cancel := context.WithTimeout(ctx, sourceLimit)
	defer cancel()
	d, ok, err := switchover.Claim(limited, s.options.Store, s.options.Root, claimant(s.request, f.Status()), time.Now().UTC())
	var undecided *switchover.UndecidedError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &undecided):
		s.progress.waits("the standby cannot say in the store that it becomes the cluster, and needs the right to create objects there: " + err.Error())
		pause(ctx, sourcePoll)
		return errNotClaimed
	case err != nil || !ok:
		return errNotClaimed
	}
	s.Log.Info("the source has stopped, and this standby becomes the cluster", "switchover", string(d.ID), "revision", d.Revision)
	return recordClaim(filepath.Dir(s.request.DataDir), d)
}

// room returns why the promotion would not fit on the volume. It makes no copy of the database, but etcd allocates the first files of its log.
func (s *following) room() error {
	free, err := source.Free(filepath.Dir(s.request.DataDir))
	if err == nil && free < promotionNeeds {
		err = fmt.Errorf("the volume has %d MiB free, but the promotion needs %d MiB: use larger volumes for the members", free>>20, promotionNeeds>>20)
	}
	return err
}

// reachesUnlessChanged is reachesEnd, which ends when another promotion is asked for, or when the Secret changes: it may take minutes.
func (s *following) reachesUnlessChanged(ctx context.Context, f *standby.Follower, e switchover.End) bool {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go s.awaitEnd(ctx, cancel)
	return s.reachesEnd(ctx, f, e)
}

// reachesEnd applies what the archive still has, until the standby has all up to an end. It returns false if nothing is applied for sourceLimit, or if it is impossible.
func (s *following) reachesEnd(ctx context.Context, f *standby.Follower, e switchover.End) bool {
	limit, progressed := cmp.Or(s.restLimit, sourceLimit), time.Now()
	for looked := false; ctx.Err() == nil && time.Since(progressed) < limit; {
		done, err := f.Step(ctx) // which may take minutes, for a base or a slow store
		has := f.Status()
		if err == nil && done != standby.Idle {
			progressed = time.Now()
		}
		switch {
		case has.Timeline != e.Timeline, has.Revision > e.Revision:
			return false
		case has.Revision == e.Revision && !looked: // the archive may have been deleted, or begun again
			f.LookAgain()
			looked = true
		case has.Revision == e.Revision && err == nil && done == standby.Idle:
			return true
		case err != nil || done == standby.Idle:
			pause(ctx, promotePoll)
		}
	}
	return false
}

// recordClaim records the decision on the volume, so that a process that is killed from here on needs no store.
func recordClaim(volume string, d switchover.Decision) error {
	content, err := json.Marshal(d)
	if err != nil {
		return err
	}
	path := filepath.Join(volume, claimedName)
	if err = writeSynced(path, content); err != nil {
		return fmt.Errorf("record the promotion: %w: %w", source.ErrDisk, err)
	}
	return nil
}

// claimed returns the decision that this standby becomes the cluster. It is nil if the standby has not claimed the end of its source. A file that cannot be read is an error:
// without it, the standby would be promoted as if its source were lost.
func claimed(volume string) (*switchover.Decision, error) {
	content, err := os.ReadFile(filepath.Join(volume, claimedName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var d switchover.Decision
	if err == nil {
		err = json.Unmarshal(content, &d)
	}
	if err != nil {
		return nil, fmt.Errorf("read whether the standby has taken over: %w: %w", source.ErrDisk, err)
	}
	return &d, nil
}
