package act

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/accounts"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/kube"
)

// accountsTimeout bounds the changes of one step. What is left is done by the next one.
const accountsTimeout = 15 * time.Second

// changeAccounts makes the next changes of users and roles.
func (a *etcdActs) changeAccounts(ctx context.Context, v *view.View) error {
	ctx, cancel := context.WithTimeout(ctx, accountsTimeout)
	defer cancel()
	batch := accounts.Next(v.State)
	passwords, err := a.passwords(ctx, v, batch.Changes)
	if err != nil {
		return err
	}
	v.AccountsChanged()
	return a.WithServing(ctx, v, "", func(member members.Etcd) error {
		change := func(ctx context.Context, changes []etcd.AccountChange) error {
			for _, c := range changes {
				if err := member.ChangeAccount(ctx, c, passwords[c.PasswordSecret]); err != nil {
					return err
				}
			}
			return nil
		}
		if batch.InOrder {
			return change(ctx, batch.Changes)
		}
		names, of := byName(batch.Changes)
		return sideBySide(ctx, names, limited(of, change))
	})
}

// passwordsAtOnce is how many passwords a member hashes at the same time. Each costs it some 50 ms of a processor, and more with a larger --bcrypt-cost.
// A member with a small limit of CPU could answer none of many within the time of a step, or lose its leader.
const passwordsAtOnce = 4

// limited makes the changes of a name, those with passwords only a few at the same time.
func limited(of map[string][]etcd.AccountChange, do func(context.Context, []etcd.AccountChange) error) func(context.Context, string) error {
	slots := make(chan struct{}, passwordsAtOnce)
	return func(ctx context.Context, name string) error {
		if slices.ContainsFunc(of[name], func(c etcd.AccountChange) bool { return c.PasswordSecret != "" }) {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return do(ctx, of[name])
	}
}

// sideBySide makes the changes of all names, and returns the first error. What etcd refuses for one name keeps no other one from its changes, such as
// one that was just deleted and is to be added again.
func sideBySide(ctx context.Context, names []string, do func(context.Context, string) error) error {
	var lock sync.Mutex
	var failed error
	err := etcd.Each(ctx, names, func(ctx context.Context, name string) error {
		if err := do(ctx, name); err != nil {
			lock.Lock()
			defer lock.Unlock()
			failed = cmp.Or(failed, err)
		}
		return ctx.Err()
	})
	return cmp.Or(failed, err)
}

// byName groups changes by the name of the user or the role. A role and a user of the same name are in one group.
func byName(changes []etcd.AccountChange) (names []string, of map[string][]etcd.AccountChange) {
	of = map[string][]etcd.AccountChange{}
	for _, c := range changes {
		if len(of[c.Name]) == 0 {
			names = append(names, c.Name)
		}
		of[c.Name] = append(of[c.Name], c)
	}
	return names, of
}

// passwords reads those that the changes need, by the name of the Secret.
func (a *etcdActs) passwords(ctx context.Context, v *view.View, changes []etcd.AccountChange) (map[string]string, error) {
	read := map[string]string{}
	for _, c := range changes {
		name := c.PasswordSecret
		if _, done := read[name]; done || name == "" {
			continue
		}
		secret, err := kube.ReadSecret(ctx, a.pods.Client, client.ObjectKey{Namespace: v.Namespace, Name: name}, v1beta2.AuthUsernameKey, v1beta2.AuthPasswordKey)
		if err != nil {
			return nil, err
		}
		password := etcd.Password(secret.Data[v1beta2.AuthPasswordKey])
		if err := etcd.CheckPassword(password); err != nil {
			return nil, fmt.Errorf("read the password of a user: key %s of Secret %s: %w", v1beta2.AuthPasswordKey, name, err)
		}
		if user := etcd.Password(secret.Data[v1beta2.AuthUsernameKey]); name == v.Spec.Auth.OperatorSecretName() && user != c.Name {
			return nil, fmt.Errorf("read the user of the operators: Secret %s was changed to user %s a short time ago", name, user)
		}
		read[name] = password
	}
	return read, nil
}
