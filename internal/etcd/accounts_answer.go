package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/authpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	// maxAccounts limits the memory of the users and roles of one cluster, which are kept for minutes. The member chooses its answers: an empty permission of
	// two bytes takes fifty times as much. What fits into an EtcdCluster takes less.
	maxAccounts = 4 << 20
	// perName and perPermission are the memory of one, beside its text.
	perName, perPermission = 32, 64
)

// ErrManyAccounts is in the chain of an error if etcd has more users, roles and permissions than are read.
var ErrManyAccounts = errors.New("etcd has more users, roles and permissions than the operator reads, which is 4 MiB of memory")

// accountsLeft is how much memory the answers of one reading may still take.
type accountsLeft struct{ bytes atomic.Int64 }

// take returns ErrManyAccounts if so many bytes are not left.
func (l *accountsLeft) take(bytes int) error {
	if l.bytes.Add(-int64(bytes)) < 0 {
		return ErrManyAccounts
	}
	return nil
}

// accountsAnswer is an answer about users and roles, which is decoded as long as memory is left.
type accountsAnswer struct {
	left        *accountsLeft
	ofRole      bool // it has permissions, and not names
	names       []string
	permissions []Permission
	err         error // gRPC keeps only the text of what unmarshal returns
}

// accounts asks one question about users or roles. Its answer has at most that many bytes.
func (c Auth) accounts(ctx context.Context, left *accountsLeft, most int, method string, question proto.Message) (*accountsAnswer, error) {
	_, ofRole := question.(interface{ GetRole() string })
	answer := &accountsAnswer{left: left, ofRole: ofRole}
	err := c.client.ActiveConnection().Invoke(context.WithValue(ctx, longAnswers{}, most), method, question, answer)
	switch {
	case answer.err != nil:
		return nil, answer.err
	case errors.Is(err, errTooLong): // its text has the bound of others
		return nil, fmt.Errorf("%w, or more than %d KiB in one answer", ErrManyAccounts, most>>10)
	case err != nil:
		return nil, rpctypes.Error(err)
	}
	return answer, nil
}

// unmarshal reads an answer of etcdserverpb to AuthRoleList, AuthUserList, AuthUserGet or AuthRoleGet: each has a header in field 1, and a list in field 2.
func (a *accountsAnswer) unmarshal(message []byte) error {
	a.names, a.permissions = nil, nil
	a.err = fields(message, func(number protowire.Number, text []byte, _ uint64) error {
		switch {
		case number != 2:
			return nil
		case a.ofRole:
			return a.permission(text)
		}
		a.names = append(a.names, string(text))
		return a.left.take(perName + len(text))
	})
	return a.err
}

// permission reads an authpb.Permission.
func (a *accountsAnswer) permission(message []byte) error {
	if err := a.left.take(perPermission + len(message)); err != nil {
		return err
	}
	p, kind := Permission{}, authpb.READ
	err := fields(message, func(number protowire.Number, text []byte, value uint64) error {
		switch number {
		case 1:
			kind = authpb.Permission_Type(value)
		case 2:
			p.Key = string(text)
		case 3:
			p.End = string(text)
		}
		return nil
	})
	p.Read, p.Write = kind != authpb.WRITE, kind != authpb.READ
	a.permissions = append(a.permissions, p)
	return err
}

// Permission allows a role something with the keys from Key to before End. An empty End is only Key. With End "\x00" it is all keys from Key on.
type Permission struct {
	Key, End    string
	Read, Write bool
}
