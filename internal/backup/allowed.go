package backup

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// ownIdentity is the value of the chart that says which namespaces may use the operator's own identity, and where.
const ownIdentity = "backupOperator.ownIdentity"

// site is what an EtcdBackup uses in a bucket: one object, or the folder of the series of its cluster.
type site struct {
	storage.Location
	namespace, cluster string
	series             bool
}

// access returns how the site is opened.
func (p site) access(secret map[string][]byte, list grant.List) connect.Access {
	a := connect.Access{Location: p.Location, Data: secret, For: list.Of(p.namespace)}
	if p.series {
		a.Key = snapshot.Series{Folder: p.Key, Namespace: p.namespace, Cluster: p.cluster}.Lives()
	}
	return a
}

// refused returns why the values of the chart do not allow the site. It is nil if they do.
func (p site) refused(secret map[string][]byte, list grant.List) *Failure {
	return refusedBy(p.access(secret, list).Check(), "The operator does not use the path: ")
}

// refusedBy returns the Failure if an error says that the values of the chart do not allow a path.
func refusedBy(err error, what string) *Failure {
	reason, advice := grant.Explain(err, ownIdentity)
	if reason == "" {
		return nil
	}
	return &Failure{reason, planning.Sentence(what, err.Error()) + " " + advice}
}

// allowedInterval is when an EtcdBackup that is refused is looked at again. Its Secret may have credentials by then. A change of the values
// restarts the operator, which looks at all.
const allowedInterval = time.Minute

// pathIsNotAllowed comes before all rules that wait, so that the status of a series says it before the next snapshot is due.
func pathIsNotAllowed(s State) Step {
	if s.Refused == nil {
		return nil
	}
	return Refuse{Reason: s.Refused.Reason, Message: s.Refused.Message + " The operator takes no snapshot until then.", Again: allowedInterval}
}

// judge finds out whether the values of the chart allow a location. If its Secret is missing, missing says so, and the location is judged when it
// exists.
func (r *Reconciler) judge(ctx context.Context, p site) (refused *Failure, missing string, err error) {
	secret, err := kube.SecretData(ctx, r.live, p.namespace, p.Secret)
	switch {
	case errors.Is(err, kube.ErrSecretMissing):
		return nil, err.Error(), nil
	case err != nil:
		return nil, "", err
	}
	return p.refused(secret, r.identity), "", nil
}

// site returns what the EtcdBackup uses in a location.
func (s State) site(at storage.Location) site {
	return site{Location: at, namespace: s.Namespace, cluster: sourceName(s.Name, s.Spec), series: s.Series()}
}

// copyEvents reports that the second location is not allowed, when the status says it first.
func copyEvents(before, after v1beta2.EtcdBackupStatus) []planning.Event {
	was, is := conditionOf(before.Conditions, v1beta2.ConditionCopied), conditionOf(after.Conditions, v1beta2.ConditionCopied)
	if is == nil || !grant.Refused(is.Reason) || was != nil && was.Reason == is.Reason {
		return nil
	}
	return []planning.Event{newEvent(corev1.EventTypeWarning, is.Reason, actionCopy, is.Message)}
}
