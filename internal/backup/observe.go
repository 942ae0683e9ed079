package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// observe reads everything that a decision may depend on. It decides nothing. It does not read the EtcdBackup from the
// cache: the status contains the results of earlier attempts, and a stale one would repeat an attempt.
func (r *Reconciler) observe(ctx context.Context, name types.NamespacedName) (*v1beta2.EtcdBackup, State, error) {
	backup := &v1beta2.EtcdBackup{}
	if err := r.live.Get(ctx, name, backup); err != nil {
		return nil, State{}, fmt.Errorf("read EtcdBackup %s: %w", name, err)
	}
	s := State{
		Namespace: backup.Namespace, Name: backup.Name, UID: backup.UID, Generation: backup.Generation,
		CreatedAt: backup.CreationTimestamp.Time, Spec: backup.Spec, Status: backup.Status,
		Request:      backup.Annotations[v1beta2.AnnotationBackupNow],
		Deleting:     !backup.DeletionTimestamp.IsZero(),
		Held:         controllerutil.ContainsFinalizer(backup, v1beta2.FinalizerSnapshots),
		OldFinalizer: controllerutil.ContainsFinalizer(backup, finalizer),
		Attempt:      r.attempts.find(keyOf(backup)),
		Jitter:       r.jitter,
		Now:          r.now(),
		ClocksDiffer: r.server.Differs(),
	}
	if s.Deleting {
		s.DeletedAt = backup.DeletionTimestamp.Time
		s.DeletingFor = r.deletions.since(keyOf(backup), s.Now)
	}
	s.Target, s.Problem = target(s.Namespace, s.Name, s.Spec)
	if s.Spec.CopyTo != nil && s.Problem == nil {
		s.CopyTarget, s.CopyProblem = copyTarget(s.Namespace, s.Name, s.Spec, s.Target)
	}
	s.Copy, s.CopyBusy = r.copies.find(keyOf(backup)), r.copies.pool.Busy(keyOf(backup))
	s.Archive, s.ArchiveBusy = r.archives.find(keyOf(backup))
	if s.Deleting && s.Spec.FinalSnapshot {
		s.Request = finalRequest(s.DeletedAt)
	}
	if s.Deleting && !s.final() || s.Problem != nil || s.Attempt != nil && s.Spec.Continuous == nil || s.ended() != "" && !s.drillable() {
		return backup, s, nil // no rule depends on anything else then
	}
	var err error
	if s.Cluster, err = r.cluster(ctx, s); err != nil {
		return nil, State{}, err
	}
	err = r.observeSecrets(ctx, &s)
	s.Full = r.attempts.pool.Why(keyOf(backup), r.limits.claim(jobSpecOf(s))) != turns.None
	return backup, s, err
}

// cluster returns the EtcdCluster that the spec names, and nil if it does not exist.
func (r *Reconciler) cluster(ctx context.Context, s State) (*Cluster, error) {
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
	return clusterOf(&found), nil
}

// clusterOf returns what a decision may depend on from an EtcdCluster.
func clusterOf(c *v1beta2.EtcdCluster) *Cluster {
	out := &Cluster{
		Name: c.Name, UID: c.UID, CreatedAt: c.CreationTimestamp.Time, ID: c.Status.ClusterID, AuthSecret: c.Status.OperatorAuthSecret,
		// An older cluster-operator reports only one Secret, for clients and operators.
		TLSSecret: cmp.Or(c.Status.OperatorTLSSecret, c.Status.ClientTLSSecret),
		Available: meta.IsStatusConditionTrue(c.Status.Conditions, v1beta2.ConditionAvailable),
	}
	if condition := meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionAvailable); condition == nil {
		out.Message = "cluster-operator has not reported its state yet. If this takes more than a minute, check that cluster-operator is running."
	} else if !out.Available {
		out.Message, out.Hibernated = condition.Message, condition.Reason == v1beta2.ReasonHibernated
	}
	if r := c.Status.LastRecovery; r != nil {
		out.Recovery = recoveryID(r.Member, r.StartedAt)
	}
	if r := c.Status.Recovery; r != nil && r.StartedAt != nil {
		out.Recovering = r.Step == v1beta2.RecoveryForcing
		// If a recovery is cancelled after its survivor may have run alone, the status has the one before it again.
		if last := c.Status.LastRecovery; out.Recovering || last == nil || !r.StartedAt.Before(&last.StartedAt) {
			out.Recovery = recoveryID(r.Member, *r.StartedAt)
		}
	}
	for _, m := range c.Status.MemberStatuses {
		if m.ClientURL != "" {
			out.ClientURLs = append(out.ClientURLs, m.ClientURL)
		}
	}
	return out
}

func recoveryID(member string, started metav1.Time) string {
	return member + " " + started.UTC().Format(time.RFC3339)
}

// observeSecrets finds out which of the Secrets that an attempt needs is missing, and whether the values of the chart allow the locations. Only the
// attempt uses the contents, which are never part of the State. An EtcdCluster may name a Secret with a user while authentication is off, so that
// one may be missing.
func (r *Reconciler) observeSecrets(ctx context.Context, s *State) (err error) {
	if s.Refused, s.SecretProblem, err = r.judge(ctx, s.site(s.Target)); err != nil {
		return err
	}
	if s.Spec.CopyTo != nil && s.CopyProblem == nil {
		if s.CopyProblem, _, err = r.judge(ctx, s.site(s.CopyTarget)); err != nil {
			return err
		}
	}
	names := []string{s.tlsSecret(), s.signingSecret()}
	if s.Spec.EtcdCluster == nil {
		names = append(names, s.authSecret())
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

func keyOf(object client.Object) worker.Key {
	return worker.Key{Object: client.ObjectKeyFromObject(object), UID: object.GetUID()}
}
