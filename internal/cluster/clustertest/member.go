package clustertest

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// FakeMember is a member that returns the given answers. It does not implement the other calls.
type FakeMember struct {
	otherCalls
	Answer     etcd.Status
	Refuses    error
	Guards     error
	Membership []etcd.Member
	Knows      []etcd.Member
	Hash       uint32
	Hangs      bool
	Password   *SlowPassword
	Unready    bool
	Takes      time.Duration // for a read
	Silent     bool          // it accepts connections and answers nothing
}

// otherCalls are those of a member that a test implements itself, if it needs them.
type otherCalls interface {
	AddLearner(ctx context.Context, peerURL string) error
	AddVoter(ctx context.Context, peerURL string) error
	Promote(ctx context.Context, id etcd.ID) error
	Remove(ctx context.Context, id etcd.ID) error
	MoveLeader(ctx context.Context, to etcd.ID) error
	EnableDowngrade(ctx context.Context, target string) error
	CancelDowngrade(ctx context.Context) error
	Compact(ctx context.Context, revision int64) error
	Defragment(ctx context.Context) error
	Disarm(ctx context.Context, alarm etcd.Alarm) error
	Fence(ctx context.Context, id etcd.ID) (revision int64, err error)
	Unfence(ctx context.Context, id etcd.ID) error
	Accounts(ctx context.Context, roles, users []string) (etcd.Accounts, error)
	ChangeAccount(ctx context.Context, change etcd.AccountChange, password string) error
}

// SlowPassword is a member that needs more time to check a password than a look allows.
type SlowPassword struct {
	Done  atomic.Bool
	Tries atomic.Int32
	// never: the member never finishes the check.
	Never bool
	// Takes is how long the check takes.
	Takes time.Duration
}

func (m FakeMember) Status(ctx context.Context) (etcd.Status, error) {
	if m.Silent {
		<-ctx.Done()
		return etcd.Status{}, ctx.Err()
	}
	if m.Password != nil && !m.Password.Done.Load() {
		return etcd.Status{}, fmt.Errorf("authenticate: %w", etcd.ErrLoginTimeout)
	}
	return m.Answer, m.Guards
}

func (m FakeMember) Login(ctx context.Context) error {
	m.Password.Tries.Add(1)
	if m.Password.Never {
		<-ctx.Done()
		return ctx.Err()
	}
	<-time.After(m.Password.Takes)
	m.Password.Done.Store(true)
	return nil
}

func (m FakeMember) Serving(ctx context.Context) error {
	if m.Hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if m.Takes > 0 {
		<-time.After(m.Takes)
	}
	return m.Refuses
}

func (m FakeMember) Members(context.Context) ([]etcd.Member, error) { return m.Membership, nil }

func (m FakeMember) MembersKnown(context.Context) ([]etcd.Member, error) { return m.Knows, nil }

func (m FakeMember) Close() {}

func (m FakeMember) HashKV(context.Context, int64) (hash uint32, compacted int64, err error) {
	return m.Hash, 30, nil
}
