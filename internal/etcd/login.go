package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Login is a user of one etcd cluster. Clients with the same Login share the token that a member gave for the password. A
// client asks for a token only if a member demands one, so a Login may be used while authentication is off.
//
// The password is checked slowly by design, and with a quorum. A token is checked at once and without a quorum, so a
// process should keep its Login for as long as it calls the cluster.
type Login struct {
	user, password string

	mu    sync.Mutex
	token string
}

// ErrNoCredentials means that a user name or a password is missing.
var ErrNoCredentials = errors.New("the user name or the password is empty")

// NewLogin returns the Login of a user. It ignores line breaks at the end, which files of Secrets often have.
func NewLogin(user, password []byte) (*Login, error) {
	l := &Login{user: Password(user), password: Password(password)}
	if l.user == "" || l.password == "" {
		return nil, ErrNoCredentials
	}
	return l, nil
}

// Password returns a user name or a password without line breaks at its end.
func Password(text []byte) string { return strings.TrimRight(string(text), "\r\n") }

// User returns the name of the user.
func (l *Login) User() string { return l.user }

// ElsewhereToo returns a Login of the same user for another etcd cluster, which does not know the tokens of this one.
func (l *Login) ElsewhereToo() *Login { return &Login{user: l.user, password: l.password} }

// Same reports whether two Logins have the same user and password.
func (l *Login) Same(other *Login) bool {
	return l != nil && other != nil && l.user == other.user && l.password == other.password
}

// loginTimeout is the longest time that a member gets to check a password.
const loginTimeout = 10 * time.Second

// limitLogin leaves a caller half of its time to find out more if a member does not reach the quorum that it needs to give a
// token. Client.Login uses all of it.
func limitLogin(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := loginTimeout
	if end, has := ctx.Deadline(); has {
		limit = min(limit, time.Until(end)/2)
	}
	return context.WithTimeout(ctx, limit)
}

// intercept makes unary calls with the token.
func (l *Login) intercept(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if method == pb.Auth_Authenticate_FullMethodName {
		return invoke(ctx, method, req, reply, conn, opts...)
	}
	return l.do(ctx, conn, func(ctx context.Context) error { return invoke(ctx, method, req, reply, conn, opts...) })
}

// do makes a call with the token. If the member demands another token, do gets one and repeats the call once.
func (l *Login) do(ctx context.Context, conn grpc.ClientConnInterface, call func(context.Context) error) error {
	if l == nil {
		return call(ctx)
	}
	token := l.current()
	err := call(withToken(ctx, token))
	if !demandsLogin(err, token) {
		return err
	}
	limited, cancel := limitLogin(ctx)
	renewed, loginErr := l.authenticate(limited, conn, token)
	cancel()
	switch {
	case errors.Is(loginErr, rpctypes.ErrGRPCNotSupportedForLearner):
		return err
	case loginErr != nil:
		return fmt.Errorf("authenticate as user %s: %w", l.user, loginErr)
	}
	return call(withToken(ctx, renewed))
}

// demandsLogin says whether a member refuses a token, or the name in the client's certificate if there was no token.
func demandsLogin(err error, token string) bool {
	switch RefusalOf(err) {
	case RefusedUnknown:
		return true
	case RefusedRole:
		return token == ""
	}
	return false
}

// authenticate gets a token in place of one that a member refused. A learner gives none. It takes those that voters give,
// but does not know those from before its start. So its refusal makes the next call of a voter get a new one.
func (l *Login) authenticate(ctx context.Context, conn grpc.ClientConnInterface, refused string) (string, error) {
	if token := l.current(); token != refused && token != "" {
		return token, nil // another client got it meanwhile
	}
	answer, err := pb.NewAuthClient(conn).Authenticate(ctx, &pb.AuthenticateRequest{Name: l.user, Password: l.password})
	switch {
	case errors.Is(err, rpctypes.ErrGRPCNotSupportedForLearner):
		l.replace(refused, "")
		return "", err
	case errors.Is(rpctypes.Error(err), rpctypes.ErrAuthNotEnabled):
		return "", nil // it was turned off meanwhile
	case err != nil && (ctx.Err() != nil || errors.Is(rpctypes.Error(err), rpctypes.ErrTimeout)): // etcd itself gives up after 7 s
		return "", ErrLoginTimeout
	case err != nil:
		return "", rpctypes.Error(err)
	}
	l.replace(refused, answer.Token)
	return answer.Token, nil
}

func (l *Login) current() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.token
}

// replace sets the token, unless another client has replaced it already.
func (l *Login) replace(refused, token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token == refused {
		l.token = token
	}
}

func withToken(ctx context.Context, token string) context.Context {
	if token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, rpctypes.TokenFieldNameGRPC, token)
}
