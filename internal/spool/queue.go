package spool

import (
	"context"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

func (s *Spool) wait(ctx context.Context, r *request) (*Share, error) {
	s.mu.Lock()
	s.queue = append(s.queue, r)
	s.admit()
	s.mu.Unlock()
	err := s.answer(ctx, r)
	if err != nil {
		return nil, err
	}
	return r.share, nil
}

// answer waits for the answer to a request. The job leaves its worker while it waits. An urgent one does not wait for a worker afterwards.
func (s *Spool) answer(ctx context.Context, r *request) error {
	select {
	case err := <-r.ready:
		return err
	default:
	}
	leave := turns.LeaveForMany
	if r.urgent {
		leave = turns.Leave
	}
	back := leave(ctx)
	defer func() {
		returns(s, r.namespace, 1)
		back()
		returns(s, r.namespace, -1)
	}()
	select {
	case err := <-r.ready:
		if r.place > 0 {
			turns.Waited(ctx, time.Since(r.since))
		}
		return err
	case <-ctx.Done():
		return s.leave(r, context.Cause(ctx))
	}
}

// leave removes a request whose context has ended. If it was admitted before that, leave returns its space.
func (s *Spool) leave(r *request, cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !dequeue(s, r) && <-r.ready == nil {
		s.remove(r.share)
	}
	s.admit()
	return cause
}

// admit answers the requests that need not wait, one after the other, because each changes what is left for the others.
func (s *Spool) admit() {
	for {
		next, err := next(s)
		if next == nil {
			return
		}
		if err == nil {
			s.count++
			overtakeApart(s) // before next leaves the queue, because an urgent job may yield to it
			s.overtake(next.claim())
			next.share = &Share{spool: s, namespace: next.namespace, urgent: next.urgent, bytes: next.bytes, admitted: s.count, place: min(next.after(), s.count), since: time.Now(), again: next.urgent && hadUrgent(s, next.namespace)}
			s.add(next.share)
		}
		dequeue(s, next)
		next.ready <- err
	}
}

// next returns the request that is answered next, and nil if all have to wait.
func next(s *Spool) (next *request, err error) {
	waits := map[lane]bool{} // for their own namespace
	placed := placed(s)
	for _, r := range s.queue {
		r.why, err = judge(s, r)
		if err != nil {
			return r, err
		}
		if r.why == turns.OwnShare {
			waits[r.lane()] = true
		} else if waits[r.lane()] && !r.holds { // it would delay the one before it again and again
			r.why = turns.OwnShare
		}
		if r.why != turns.OwnShare && r.place == 0 && !placed[r.lane()] {
			s.count++
			r.place, r.since, placed[r.lane()] = s.count, time.Now(), true
		}
	}
	for _, r := range s.queue {
		if r.why == turns.None && (delays(s, r.claim()) || delaysOwn(s, r)) {
			r.why = turns.Earlier
		}
		if r.why == turns.None && (next == nil || compareTurns(s, r, next) < 0) {
			next = r
		}
	}
	return next, nil
}
