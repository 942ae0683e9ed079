package view

import (
	"sync"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Logins are the operator's user in one EtcdCluster. Each incarnation is an etcd cluster of its own, which knows no tokens of
// others. The zero value has no user.
type Logins struct {
	mu   sync.Mutex
	User *etcd.Login
	of   map[int32]*etcd.Login
}

// Use sets the user. A changed password takes effect at once.
func (l *Logins) Use(name, password []byte) error {
	user, err := etcd.NewLogin(name, password)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !user.Same(l.User) {
		l.User, l.of = user, map[int32]*etcd.Login{}
	}
	return nil
}

// At is the user in an incarnation; nil without one.
func (l *Logins) At(incarnation int32) *etcd.Login {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.User == nil {
		return nil
	}
	if l.of[incarnation] == nil {
		l.of[incarnation] = l.User.ElsewhereToo()
	}
	return l.of[incarnation]
}
