// Package members talks to etcd: it opens connections to members, asks them, waits for their answers and checks their health between passes.
package members

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

const (
	// passwordTimeout is for members that check a password slowly: by design that takes much CPU, and several members check it at
	// the same time. They give a token for it, so that later looks need none of that.
	passwordTimeout = 10 * time.Second
	// AskTimeout bounds what one member may take to answer, so that one that hangs is known as such and holds up nobody.
	AskTimeout = 2 * time.Second
)

// Etcd is one member, as far as this operator talks to it. *etcd.Client is one.
type Etcd interface {
	Status(ctx context.Context) (etcd.Status, error)
	Serving(ctx context.Context) error
	Members(ctx context.Context) ([]etcd.Member, error)
	MembersKnown(ctx context.Context) ([]etcd.Member, error)
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
	Login(ctx context.Context) error
	Accounts(ctx context.Context, roles, users []string) (etcd.Accounts, error)
	ChangeAccount(ctx context.Context, change etcd.AccountChange, password string) error
	HashKV(ctx context.Context, revision int64) (hash uint32, compactRevision int64, err error)
	Close()
}

// Dial opens a connection to one member.
type Dial func(endpoint etcd.Endpoint, config *tls.Config) (Etcd, error)
