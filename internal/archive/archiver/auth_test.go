package archiver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
)

// TestAuthenticationThatIsTurnedOnTakesABase: etcd does not raise the auth revision then. A restore of a later point from an earlier base
// would serve everybody without a password. The base for the last change of users has the same revision, so the reasons must differ.
func TestAuthenticationThatIsTurnedOnTakesABase(t *testing.T) {
	b := newBench(t)
	a, stop := b.start()
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.change(func() { b.auth.Revision = 2 })
	b.await("take a base with the users", func() bool { return len(b.reasons()) == 2 })
	b.put("1", "a")
	b.await("store what was written before", func() bool { return a.Status().Stored.Revision == 2 })
	b.change(func() { b.auth.Enabled = auth.On })
	b.await("take a base with authentication", func() bool { return len(b.reasons()) == 3 })
	b.put("2", "a")
	b.await("store what was written later", func() bool { return a.Status().Stored.Revision == 3 })
	_ = stop()
	if got := b.reasons(); !strings.HasPrefix(got[2], reasonAuth) || got[1] == got[2] {
		t.Errorf("bases: %q", got)
	}
	c, err := archive.Select(b.histories(), b.bases, archive.Target{Revision: 3})
	if err != nil || c.Base.Auth.Enabled != auth.On {
		t.Errorf("revision 3 is restored from base %s with auth revision %s: %v", c.Base.Key, c.Base.Auth, err)
	}
	if c, err := archive.Select(b.histories(), b.bases[:2], archive.Target{Revision: 3}); !archive.IsRefusal(err) {
		t.Errorf("without the last base, revision 3 is restored from base %s with auth revision %s: %v", c.Base.Key, c.Base.Auth, err)
	}
}

// TestAuthenticationThatWasTurnedOnWhileNoArchiverRanTakesABase also covers an archive of an earlier version, which did not record it.
func TestAuthenticationThatWasTurnedOnWhileNoArchiverRanTakesABase(t *testing.T) {
	for _, before := range []auth.Switch{auth.Off, auth.Unknown} {
		b := newBench(t)
		b.auth.Enabled = before
		b.put("1", "a")
		b.archived(1)
		b.put("2", "a")
		b.archived(3)
		b.change(func() { b.auth.Enabled = auth.On })
		a, stop := b.start()
		b.await("take a base", func() bool { return len(b.reasons()) == 2 })
		b.put("3", "a")
		b.await("store what was written later", func() bool { return a.Status().Stored.Revision == 4 })
		_ = stop()
		if c, err := archive.Select(b.histories(), b.bases, archive.Target{Revision: 4}); err != nil || c.Base.Auth.Enabled != auth.On {
			t.Errorf("revision 4 is restored from base %s with auth revision %s: %v", c.Base.Key, c.Base.Auth, err)
		}
	}
}

// TestNoProgressIsReportedBetweenAChangeOfAuthenticationAndItsBase: a restore to a time within it would have the state before.
func TestNoProgressIsReportedBetweenAChangeOfAuthenticationAndItsBase(t *testing.T) {
	b := newBench(t)
	s := &session{a: New(Options{Store: b.store}), chain: archive.Chain{Last: 5}}
	s.bases = authBases{a: s.a, covered: auth.State{Revision: 4, Enabled: auth.Off}}
	s.a.status.Stored = archive.Point{Revision: 5}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	progress := func(at time.Time, enabled auth.Switch) time.Time {
		if err := s.saw(sight{revision: 5, at: at, auth: auth.State{Revision: 4, Enabled: enabled}}); err != nil {
			t.Fatal(err)
		}
		return s.a.Status().Progress.At
	}
	if got := progress(noon, auth.Off); !got.Equal(noon) {
		t.Errorf("the progress of an idle cluster is %s", got)
	}
	if got := progress(noon.Add(time.Minute), auth.On); !got.Equal(noon) {
		t.Errorf("authentication was turned on, but the progress is %s", got)
	}
	if err := s.bases.took(t.Context(), taken{Base: Base{Auth: auth.State{Revision: 4, Enabled: auth.On}}}, s.auth); err != nil {
		t.Fatal(err)
	}
	if got := progress(noon.Add(time.Hour), auth.On); !got.Equal(noon.Add(time.Hour)) {
		t.Errorf("a base has the change, but the progress is %s", got)
	}
}

// The base after a change of users failed, and the archive continued during that. The archiver that began again did not take it, so neither a standby nor a
// restore of a later point had these users until the next snapshot of the schedule.
func TestABaseAfterAChangeOfUsersIsTakenAgain(t *testing.T) {
	b := newBench(t)
	failing, fail := make(chan struct{}), make(chan struct{})
	taken := 0
	a, stop := b.start(func(o *Options) {
		o.TakeBase = func(ctx context.Context, reason string) (Base, error) {
			if taken++; taken > 1 {
				close(failing)
				<-fail
				return Base{}, errors.New("the store is down")
			}
			return b.takeBase(ctx, reason)
		}
	})
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.change(func() { b.auth.Revision = 2 })
	<-failing
	for i := range 2 {
		b.put(fmt.Sprint(i), "a")
		b.await("store it", func() bool { return a.Status().Stored.Revision == b.last() })
	}
	if s := a.Status(); !s.BaseOwed || s.Auth.Revision != 2 {
		t.Errorf("without the base, the status has the auth revision %s, owed %t", s.Auth, s.BaseOwed)
	}
	close(fail)
	_ = stop()
	before := a.Status()
	a, stop = b.start(func(o *Options) { o.BaseOwed = before.BaseOwed })
	b.await("take the base", func() bool { return len(b.reasons()) == 2 && !a.Status().BaseOwed })
	_ = stop()
}

// refusing is a cluster that answers only users, while the archiver has none.
type refusing struct {
	*cluster
	refuses atomic.Bool
}

func (r *refusing) Auth(ctx context.Context, id uint64) (auth.State, error) {
	if r.refuses.Load() {
		return auth.State{}, fmt.Errorf("read the state of authentication: %w", ErrRefused)
	}
	return r.cluster.Auth(ctx, id)
}

// An EtcdBackup without a user archives a cluster whose authentication is turned on. An open watch still returns what is written then, and etcd 3.5
// and 3.6 refuse to say that authentication is on. The archive said that it was off, and a restore served everybody without a password.
func TestARefusalSaysThatAuthenticationIsOn(t *testing.T) {
	b := newBench(t)
	c := &refusing{cluster: b.cluster}
	a, stop := b.start(func(o *Options) { o.Cluster = c })
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.put("1", "a")
	b.await("store what was written before", func() bool { return a.Status().Stored.Revision == 2 })
	c.refuses.Store(true)
	b.put("2", "a")
	b.await("store what was written later", func() bool { return a.Status().Stored.Revision == 3 })
	if err := stop(); !errors.Is(err, ErrRefused) {
		t.Errorf("the archiver ended with %v", err)
	}
	if chosen, err := archive.Select(b.histories(), b.bases, archive.Target{Revision: 3}); err == nil && chosen.Base.Auth.Enabled != auth.On {
		t.Errorf("revision 3 is restored from base %s, without authentication", chosen.Base.Key)
	}
	if _, err := archive.Select(b.histories(), b.bases, archive.Target{Revision: 2}); err != nil {
		t.Errorf("a revision from before cannot be restored: %v", err)
	}
}

// The address of the members led to another cluster, before what was received of the first one was stored. The segment had the users of the other cluster,
// so that nothing of it could be restored.
func TestTheLastSegmentHasNoUsersOfAnotherCluster(t *testing.T) {
	b := newBench(t)
	a, stop := b.start(func(o *Options) { o.MaxLag = time.Hour })
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.put("1", "a")
	b.await("receive", func() bool { return a.Status().Received.Revision == 2 })
	b.change(func() { b.id, b.auth = 0xdef, auth.State{Revision: 9, Enabled: auth.On} })
	b.put("2", "a")
	b.await("begin another timeline", func() bool { return a.Status().Timeline == 2 })
	_ = stop()
	last := b.histories()[0].Links[0].Header
	if from, to := last.Auth(); last.Last != 2 || !from.Keeps(to) {
		t.Errorf("the segment to revision %d has the auth revisions %s and %s", last.Last, from, to)
	}
}
