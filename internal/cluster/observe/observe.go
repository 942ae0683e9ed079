// Package observe reads Kubernetes and etcd into a view. It decides nothing.
package observe

import (
	"cmp"
	"context"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/modes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// Observe reads Kubernetes and etcd. It decides nothing: an etcd that does not answer is data in the State. Only
// the Kubernetes API failing is an error.
func (o *Observer) Observe(ctx context.Context, cluster *v1beta2.EtcdCluster, now time.Time) (*view.View, error) {
	v := &view.View{State: state.NewState(cluster), Cluster: cluster, Addresses: map[string]string{}, Classes: map[string]string{}}
	v.MoreDefects, v.AllowedIssuers, v.CertificateDomains = o.Defects, o.Issuers, o.CertificateDomains
	o.Image.Apply(&v.Spec)
	v.Now, v.ClusterDomain = now, clusterDomain()
	known := o.Memory.Of(client.ObjectKeyFromObject(cluster), cluster.UID)
	v.Repeats, v.Waits, v.Waiting = &known.repeats, &known.waiting, known.waiting
	if v.Deleting {
		return v, nil
	}
	o.Secrets.Keep(v)
	o.Times.ObserveClock(v)
	for _, read := range []func(context.Context, *view.View) error{
		o.ObserveServices, // first: the client Service tells whether the cluster has formed
		o.ObserveMembers,
		o.ObserveBudget, // it depends on where the members have their data
		o.ObserveNetworkPolicy,
		o.observeZones,
		o.ObserveSetAside,
		o.observeRestores,
		o.observeSourceClaim,
		o.observeStorageClass,
		o.Secrets.Judge,
		o.observeAuth,
		o.observeExpansion, // after the members, whose volumes it is about
	} {
		if err := read(ctx, v); err != nil {
			return nil, err
		}
	}
	v.PodProblem = o.Rehearsals.ProblemOf(v)
	o.observePublished(ctx, v)
	if !o.Questions.ObserveEtcd(ctx, v) {
		v.Pending = true
		return v, nil
	}
	o.observeRequired(ctx, v)
	v.ReadAccounts = &known.accounts
	if err := (accounts{o.Secrets, o.Questions}).observe(ctx, v); err != nil {
		return nil, err
	}
	o.Questions.ObserveShown(ctx, v)
	o.explain(ctx, v)
	modes.LookBehindFences(&v.State)
	certificates.CorrectTimes(&v.State, &known.seen)
	certificates.CompareClientCheck(&v.State)
	v.Replacements = o.Brake.State(client.ObjectKeyFromObject(cluster), v.Now)
	v.Held = v.Repeats.Held(cluster.Generation, v.Now)
	slices.SortFunc(v.Foreign, func(a, b state.ForeignObject) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(v.Members, func(a, b state.Member) int { return cmp.Compare(a.Name, b.Name) })
	return v, nil
}
