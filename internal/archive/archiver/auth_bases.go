package archiver

import (
	"context"
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// taken is a base, or why it was not taken.
type taken struct {
	Base
	err error
}

// authBases takes a base after each change of users, roles or authentication.
type authBases struct {
	a       *Archiver
	covered auth.State // of the end of the chain, or of a base at it
	next    chan taken // the base that is being taken; nil if there is none
	again   bool       // they have changed since then
}

// cover notes which state of authentication the archive has at its end. After a change, a base is missing at once: take is called later, and may be never.
func (b *authBases) cover(state auth.State, base bool) {
	changed := !base && !b.covered.Keeps(state)
	b.covered = state
	b.a.update(func(s *Status) { s.Auth, s.BaseOwed = state, s.BaseOwed || changed })
}

// owe notes whether a base is missing. An archiver that fails before it has one takes it when it begins again.
func (b *authBases) owe(missing bool) {
	b.a.update(func(s *Status) { s.BaseOwed = missing })
}

// take takes a base after a change of users, roles or authentication, which a watch does not send. The watch continues during that.
func (b *authBases) take(ctx context.Context, now auth.State) {
	if b.again = b.next != nil; b.again {
		return
	}
	b.owe(true)
	b.next = make(chan taken, 1)
	done, reason := b.next, b.a.because("%s: the auth revision is %s", reasonAuth, now)
	go panics.Caught(func() {
		base, err := b.a.TakeBase(ctx, reason)
		if err != nil {
			err = fmt.Errorf("take a base snapshot after a change of users, roles or authentication: %w", err)
		}
		done <- taken{base, err}
	}, func(err error) { done <- taken{err: err} })()
}

// took records a base after a change.
func (b *authBases) took(ctx context.Context, base taken, now auth.State) error {
	b.next = nil
	if base.err != nil {
		return base.err
	}
	b.cover(base.Auth, true)
	b.owe(b.again)
	if b.again {
		b.take(ctx, now)
	}
	return nil
}
