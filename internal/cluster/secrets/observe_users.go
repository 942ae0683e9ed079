package secrets

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// maxUnread is how many bytes the status quotes of an error about a Secret of a user.
const maxUnread = 300

// observeUsers reads the Secrets with the certificates of users. One that cannot be read is reported, and the cluster does not wait for it.
func (s *Secrets) observeUsers(ctx context.Context, v *view.View) error {
	v.Material.Users, v.Material.UsersIssued, v.Material.UserChecks = map[string]*material.Secret{}, map[string]*material.Secret{}, material.NewUserChecks()
	kept := s.Memory.OfView(v)
	until := kept.until
	var skipped []string
	for _, user := range v.Spec.Auth.Certified() {
		read, err := s.observeUser(ctx, v, user)
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			v.UserCertificates.Unread = append(v.UserCertificates.Unread, planning.Quote(err.Error(), maxUnread))
		}
		if err != nil || !read {
			skipped = append(skipped, user)
		}
	}
	if err := s.observeLeft(ctx, v); err != nil {
		return err
	}
	if kept.until = until; len(v.Material.Users) > 0 { // nobody renews them earlier, so no read finds another one before it is due
		kept.expectAt(material.UsersDueAt(v.Material, v.State))
	}
	v.UserCertificates.Urgent = material.UsersUrgent(v.Material, v.State)
	due, outdated := material.JudgeUsers(v.Material, v.State)
	isSkipped := func(of state.UserCertificate) bool { return slices.Contains(skipped, of.User) }
	v.UserCertificates.Due, v.UserCertificates.Outdated = slices.DeleteFunc(due, isSkipped), slices.DeleteFunc(outdated, isSkipped)
	return nil
}

// observeUser reads the Secret of a user, and what cert-manager has issued. It returns false if another owner has one of them.
func (s *Secrets) observeUser(ctx context.Context, v *view.View, user string) (bool, error) {
	name := state.UserSecret(v.State, user)
	held, ours, err := s.ownSecret(ctx, v, name)
	if err != nil {
		return false, err
	}
	if !ours {
		s.takenOfUser(v, "Secret "+name, &corev1.Secret{}, name)
		return false, nil
	}
	if held != nil {
		v.Material.Users[user] = held
	}
	if v.Spec.TLS.CertManager == nil {
		return true, nil
	}
	return s.observeUserIssued(ctx, v, user)
}

// takenOfUser records that another owner has an object of a user. It is read again with the next judgement.
func (s *Secrets) takenOfUser(v *view.View, what string, kind client.Object, name string) {
	v.UserCertificates.Taken = append(v.UserCertificates.Taken, what)
	s.Memory.OfView(v).drop(kind, client.ObjectKey{Namespace: v.Namespace, Name: name})
}
