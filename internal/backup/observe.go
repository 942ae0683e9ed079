package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// observe reads everything that a decision may depend on. It decides nothing. It does not read the EtcdBackup from the
// cache: the status contains the results of earlier attempts, and a stale one would repeat an attempt.
func (r *Reconciler) observe(ctx context.Context, name types.NamespacedName) (*v1beta2.EtcdBackup, state.State, error) {
	backup := &v1beta2.EtcdBackup{}
	if err := r.live.Get(ctx, name, backup); err != nil {
		return nil, state.State{}, fmt.Errorf("read EtcdBackup %s: %w", name, err)
	}
	s := state.State{
		Namespace: backup.Namespace, Name: backup.Name, UID: backup.UID, Generation: backup.Generation,
		CreatedAt: backup.CreationTimestamp.Time, Spec: backup.Spec, Status: backup.Status,
		Request:      backup.Annotations[v1beta2.AnnotationBackupNow],
		Deleting:     !backup.DeletionTimestamp.IsZero(),
		Held:         controllerutil.ContainsFinalizer(backup, v1beta2.FinalizerSnapshots),
		OldFinalizer: controllerutil.ContainsFinalizer(backup, finalizer),
		Attempt:      r.attempts.Find(keyOf(backup)),
		Jitter:       r.jitter,
		Now:          r.now(),
		ClocksDiffer: r.server.Differs(),
	}
	if s.Deleting {
		s.DeletedAt = backup.DeletionTimestamp.Time
		s.DeletingFor = r.deletions.since(keyOf(backup), s.Now)
	}
	s.Target, s.Problem = state.TargetOf(s.Namespace, s.Name, s.Spec)
	if s.Spec.CopyTo != nil && s.Problem == nil {
		s.CopyTarget, s.CopyProblem = state.CopyTargetOf(s.Namespace, s.Name, s.Spec, s.Target)
	}
	s.Copy, s.CopyBusy = r.copies.Find(keyOf(backup)), r.copies.Pool.Busy(keyOf(backup))
	s.Archive, s.ArchiveBusy = r.archives.Find(keyOf(backup))
	s.ArchiveCopy, s.ArchiveCopyBusy = r.archives.FindCopy(keyOf(backup))
	if s.Deleting && s.Spec.FinalSnapshot {
		s.Request = plan.FinalRequest(s.DeletedAt)
	}
	if s.Deleting && !plan.FinalIsDue(s) && !state.HandingOver(s) || s.Problem != nil || s.Attempt != nil && s.Spec.Continuous == nil || s.Ended() != "" && !s.Drillable() {
		return backup, s, nil // no rule depends on anything else then
	}
	var err error
	if s.Cluster, err = r.cluster(ctx, s); err != nil {
		return nil, state.State{}, err
	}
	err = r.observeSecrets(ctx, &s)
	s.Full = r.attempts.Pool.Why(keyOf(backup), r.limits.Claim(state.JobSpecOf(s))) != turns.None
	return backup, s, err
}

// cluster returns the EtcdCluster that the spec names, and nil if it does not exist.
func (r *Reconciler) cluster(ctx context.Context, s state.State) (*state.Cluster, error) {
	if s.Spec.EtcdCluster == nil {
		return nil, nil
	}
	name := types.NamespacedName{Namespace: s.Namespace, Name: s.Spec.EtcdCluster.Name}
	var found v1beta2.EtcdCluster
	err := r.client.Get(ctx, name, &found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read EtcdCluster %s: %w", name, err)
	}
	return state.ClusterOf(&found), nil
}

// observeSecrets finds out which of the Secrets that an attempt needs is missing, and whether the values of the chart allow the locations. Only the
// attempt uses the contents, which are never part of the State. An EtcdCluster may name a Secret with a user while authentication is off, so that
// one may be missing.
func (r *Reconciler) observeSecrets(ctx context.Context, s *state.State) (err error) {
	if s.Refused, s.SecretProblem, err = clients.Judge(ctx, r.live, r.identity, clients.SiteOf(*s, s.Target)); err != nil {
		return err
	}
	if s.Spec.CopyTo != nil && s.CopyProblem == nil {
		if s.CopyProblem, _, err = clients.Judge(ctx, r.live, r.identity, clients.SiteOf(*s, s.CopyTarget)); err != nil {
			return err
		}
	}
	secrets := s.SecretNames()
	names := []string{secrets.TLS, secrets.Signing}
	if s.Spec.EtcdCluster == nil {
		names = append(names, secrets.Auth)
	}
	for _, name := range names {
		_, err := kube.SecretData(ctx, r.live, s.Namespace, name)
		if errors.Is(err, kube.ErrSecretMissing) {
			s.SecretProblem = cmp.Or(s.SecretProblem, err.Error())
		} else if err != nil {
			return err
		}
	}
	return nil
}
