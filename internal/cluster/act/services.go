package act

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/objects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// applyServices brings both Services to what the step asks, but for one that belongs to something else.
func (a *objectActs) applyServices(ctx context.Context, v *view.View, step steps.ApplyServices) error {
	s := v.State
	s.Services.WithoutUID = step.WithoutUID
	bare := s
	bare.Spec.Service = nil
	var errs []error
	headlessCurrent := v.Services.HeadlessCurrent && step.WithoutUID == v.Services.WithoutUID
	if !state.IsForeign(v.State, "Service", v.Name) && !headlessCurrent {
		errs = append(errs, a.apply(ctx, v, objects.HeadlessService(s)))
	}
	if !state.IsForeign(v.State, "Service", v.ClientService()) {
		errs = append(errs, a.applyClientService(ctx, v, objects.ClientService(bare, step), objects.ClientService(s, step), step))
	}
	return errors.Join(errs...)
}

// applyClientService applies the client Service. If the API server refuses its settings, it applies the rest with the
// settings that the Service has: otherwise the Service would go on to select members that a restore has stopped.
func (a *objectActs) applyClientService(ctx context.Context, v *view.View, first, wanted *corev1.Service, step steps.ApplyServices) error {
	refused := a.applyOver(ctx, v, first, wanted)
	if !apierrors.IsInvalid(refused) && !apierrors.IsForbidden(refused) {
		return refused
	}
	var live corev1.Service
	if err := a.APIReader.Get(ctx, client.ObjectKeyFromObject(wanted), &live); err != nil {
		return errors.Join(refused, client.IgnoreNotFound(err))
	}
	s := v.State
	s.Services.WithoutUID, s.Spec.Service = step.WithoutUID, objects.SettingsOf(&live)
	if err := a.apply(ctx, v, objects.ClientService(s, step)); err != nil {
		return errors.Join(refused, err)
	}
	return fmt.Errorf("the API server refuses what spec.service asks for. The client Service keeps the settings that it has. Correct spec.service: %w", refused)
}
