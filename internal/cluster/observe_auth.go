package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

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
	data, err := kube.SecretData(ctx, r.Client, v.Namespace, name)
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

// loginPatiently gives the members time to check the operator's password if a look was too short for that, and asks them
// again. It waits only for members whose Pods are ready, because they have the quorum that a check needs.
func (r *Reconciler) loginPatiently(ctx context.Context, v *view, answers []answer) {
	if v.membership(answers) != nil {
		return // the token of another member is valid at all of them
	}
	var asking sync.WaitGroup
	for i, m := range v.Members {
		late := errors.Is(answers[i].err, etcd.ErrLoginTimeout) || errors.Is(answers[i].serving, etcd.ErrLoginTimeout)
		if late && m.PodReady {
			asking.Go(func() {
				if r.login(ctx, v, m.Name) == nil {
					answers[i] = r.ask(ctx, v, m.Name)
				}
			})
		}
	}
	asking.Wait()
}

func (r *Reconciler) login(ctx context.Context, v *view, member string) error {
	ctx, cancel := context.WithTimeout(ctx, passwordTimeout)
	defer cancel()
	connection, err := r.dial(v, member)
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
