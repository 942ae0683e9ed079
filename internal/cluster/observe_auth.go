package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// logins are the operator's user in one EtcdCluster. Each incarnation is an etcd cluster of its own, which knows no tokens of
// others. The zero value has no user.
type logins struct {
	mu   sync.Mutex
	user *etcd.Login
	of   map[int32]*etcd.Login
}

// use sets the user. A changed password takes effect at once.
func (l *logins) use(name, password []byte) error {
	user, err := etcd.NewLogin(name, password)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !user.Same(l.user) {
		l.user, l.of = user, map[int32]*etcd.Login{}
	}
	return nil
}

// at is the user in an incarnation; nil without one.
func (l *logins) at(incarnation int32) *etcd.Login {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.user == nil {
		return nil
	}
	if l.of[incarnation] == nil {
		l.of[incarnation] = l.user.ElsewhereToo()
	}
	return l.of[incarnation]
}

// observeAuth reads the operator's user for etcd's authentication. Authentication may be off, so a wrong Secret is no reason
// to stop.
func (r *Reconciler) observeAuth(ctx context.Context, v *view) error {
	name := v.Spec.Auth.OperatorSecretName()
	if name == "" {
		return nil
	}
	data, err := kube.SecretData(ctx, r.reads(v), v.Namespace, name)
	if errors.Is(err, kube.ErrSecretMissing) {
		v.Authentication.Problem = planning.Sentence("The operator cannot read the Secret in spec.auth: ", err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	if err := v.known.logins.use(data[v1beta2.AuthUsernameKey], data[v1beta2.AuthPasswordKey]); err != nil {
		v.Authentication.Problem = fmt.Sprintf("Secret %s needs the keys %s and %s: %v.", name, v1beta2.AuthUsernameKey, v1beta2.AuthPasswordKey, err)
		return nil
	}
	v.logins, v.Authentication.User = &v.known.logins, v.known.logins.user.User()
	return nil
}

// passwordTimeout is for members that check a password slowly: by design that takes much CPU, and several members check it at
// the same time. They give a token for it, so that later looks need none of that.
const passwordTimeout = 10 * time.Second

// askPatiently asks a member. If it could not check the operator's password in that time, it gets more time for that and is
// asked again. hung: it did not answer in time.
func (r *Reconciler) askPatiently(ctx context.Context, cluster metav1.ObjectMeta, to target) (a answer, hung bool) {
	a, hung = r.askInTime(ctx, cluster, to)
	late := errors.Is(a.err, etcd.ErrLoginTimeout) || errors.Is(a.serving, etcd.ErrLoginTimeout)
	if !late || !to.ready || login(ctx, to) != nil {
		return a, hung
	}
	return r.askInTime(ctx, cluster, to)
}

func (r *Reconciler) askInTime(ctx context.Context, cluster metav1.ObjectMeta, to target) (answer, bool) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	a := r.ask(ctx, cluster, to)
	return a, errors.Is(ctx.Err(), context.DeadlineExceeded)
}

func login(ctx context.Context, to target) error {
	ctx, cancel := context.WithTimeout(ctx, passwordTimeout)
	defer cancel()
	connection, err := to.dial()
	if err != nil {
		return err
	}
	defer connection.Close()
	return connection.Login(ctx)
}

// loginFor is the operator's user at a member; nil without one.
func (v *view) loginFor(member string) *etcd.Login {
	for _, m := range v.Members {
		if m.Name == member {
			return v.logins.at(max(m.Incarnation, plan.FirstIncarnation))
		}
	}
	return nil
}
