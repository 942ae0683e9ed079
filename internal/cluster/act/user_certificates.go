package act

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/secrets"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// eachUser does something for each of some users. One that fails keeps none of the others. It returns the first error, because those of a hundred
// users do not fit into a status.
func eachUser(users []string, what string, do func(user string) error) error {
	var first error
	more := -1
	for _, user := range users {
		if err := do(user); err != nil {
			if first == nil {
				first = err
			}
			more++
		}
	}
	if more > 0 {
		return fmt.Errorf("%w (and %d more %s of users)", first, more, what)
	}
	return first
}

// writeUserCertificates writes the Secrets of users that are due.
func (a *certificateActs) writeUserCertificates(ctx context.Context, v *view.View, step steps.WriteUserCertificates) error {
	due := v.UserCertificates.Due
	if step.Switch {
		due = slices.Concat(due, v.UserCertificates.Outdated)
	}
	var users []string
	for _, of := range due {
		users = append(users, of.User)
	}
	return eachUser(users, "Secrets", func(user string) error {
		after, err := material.NewUserSecret(v.Material, v.State, user, step)
		if err != nil {
			return err
		}
		name := state.UserSecret(v.State, user)
		if v.Material.Users[user] == nil {
			return a.create(ctx, v, newSecret(v, name, after))
		}
		return a.update(ctx, v, name, after)
	})
}

// requestUsers creates or corrects the Certificates of users.
func (a *certificateActs) requestUsers(ctx context.Context, v *view.View) error {
	if refused := certificates.RefusedIssuer(v.State); refused != "" {
		return errors.New(refused)
	}
	recorded, _ := certificates.RecordedRequests(v.State)
	return eachUser(recorded, "Certificates", func(user string) error {
		certificate := secrets.UserCertificate(v.State, user)
		live, err := a.liveCertificate(ctx, v, certificate)
		switch {
		case err != nil:
			return err
		case live == nil: // without force, the API server refuses one that another party has created since
			return a.applyCertificate(ctx, v, certificate)
		}
		certificate.SetUID(live.GetUID())
		return a.applyCertificate(ctx, v, certificate, client.ForceOwnership)
	})
}

// withdrawUsers deletes the Certificates of users that have left the spec.
func (a *certificateActs) withdrawUsers(ctx context.Context, v *view.View) error {
	return eachUser(v.UserCertificates.Left, "Certificates", func(user string) error {
		live, err := a.liveCertificate(ctx, v, secrets.UserCertificate(v.State, user))
		if live == nil || err != nil {
			return err
		}
		err = a.Client.Delete(ctx, live, client.Preconditions{UID: ptr.To(live.GetUID())})
		return view.Wrap("delete", live, client.IgnoreNotFound(err))
	})
}

// liveCertificate reads a Certificate past what is kept; nil if there is none. One of another owner is an error.
func (a *certificateActs) liveCertificate(ctx context.Context, v *view.View, want *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live := secrets.BlankCertificate()
	err := a.APIReader.Get(ctx, client.ObjectKeyFromObject(want), live)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, view.Wrap("read", live, err)
	case !v.Owns(live):
		return nil, fmt.Errorf("change Certificate %s: %w", want.GetName(), view.ErrForeign)
	}
	return live, nil
}
