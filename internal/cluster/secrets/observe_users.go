package secrets

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// maxUnread is how many bytes the status quotes of an error about a Secret of a user.
const maxUnread = 300

// observe reads the Secrets with the certificates of users. One that cannot be read is reported, and the cluster does not wait for it.
func (u users) observe(ctx context.Context) error {
	u.view.Material.Users, u.view.Material.UsersIssued, u.view.Material.UserChecks = map[string]*material.Secret{}, map[string]*material.Secret{}, material.NewUserChecks()
	kept := u.Memory.OfView(u.view)
	until := kept.until
	var skipped []string
	for _, user := range u.view.Spec.Auth.Certified() {
		read, err := u.observeOne(ctx, user)
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			u.view.UserCertificates.Unread = append(u.view.UserCertificates.Unread, planning.Quote(err.Error(), maxUnread))
		}
		if err != nil || !read {
			skipped = append(skipped, user)
		}
	}
	if err := u.observeLeft(ctx); err != nil {
		return err
	}
	if kept.until = until; len(u.view.Material.Users) > 0 { // they are not renewed earlier, so no read finds another one before it is due
		kept.expectAt(material.UsersDueAt(u.view.Material, u.view.State))
	}
	u.view.UserCertificates.Urgent = material.UsersUrgent(u.view.Material, u.view.State)
	due, outdated := material.JudgeUsers(u.view.Material, u.view.State)
	isSkipped := func(of state.UserCertificate) bool { return slices.Contains(skipped, of.User) }
	u.view.UserCertificates.Due, u.view.UserCertificates.Outdated = slices.DeleteFunc(due, isSkipped), slices.DeleteFunc(outdated, isSkipped)
	return nil
}

// observeOne reads the Secret of a user, and what cert-manager has issued. It returns false if another owner has one of them.
func (u users) observeOne(ctx context.Context, user string) (bool, error) {
	name := state.UserSecret(u.view.State, user)
	held, ours, err := u.ownSecret(ctx, u.view, name)
	if err != nil {
		return false, err
	}
	if !ours {
		u.taken("Secret "+name, &corev1.Secret{}, name)
		return false, nil
	}
	if held != nil {
		if held.Data, err = u.held.hold(name, held.Data); err != nil {
			return false, err
		}
		u.view.Material.Users[user] = held
	}
	if u.view.Spec.TLS.CertManager == nil {
		return true, nil
	}
	return u.observeIssued(ctx, user)
}
