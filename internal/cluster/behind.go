package cluster

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/kube"
)

const (
	// behindGrace is how long all passes may take no step before the status reports it.
	behindGrace = time.Minute
	// lastBehind is the longest pause between two passes that find the cache behind. The first is plan.RequeueConflict.
	lastBehind = 30 * time.Second
	// unseenLimit is how long passes wait for the operator's own status.
	unseenLimit = time.Second
)

// behind counts the passes in a row that took no step, because the cache was behind the API server or members did not answer in time.
// Its zero value is ready to use.
type behind struct {
	since, last time.Time
	passes      int
	// what was newer in the API server, or which members did not answer, when the status reported it.
	what string
}

// found counts a pass, and returns the pause until the next one. It doubles each time.
func (b *behind) found(now time.Time) time.Duration {
	if b.passes == 0 || now.Sub(b.last) > behindGrace { // passes in between ended for another cause
		*b = behind{since: now}
	}
	b.last = now
	b.passes++
	if doublings := b.passes - 1; doublings < 10 {
		return min(plan.RequeueConflict<<doublings, lastBehind)
	}
	return lastBehind
}

// ownStatus is a status that the operator wrote at the end of a pass that did not fail: when, and the resource version that this gave the
// EtcdCluster. A pass that failed is left to the back-off of its queue.
type ownStatus struct {
	at      time.Time
	version string
}

// noteStatus notes a status that was written.
func (r *Reconciler) noteStatus(v *view, after *v1beta2.EtcdCluster) {
	if v.known != nil {
		v.known.wrote = ownStatus{at: r.Now(), version: after.ResourceVersion}
	}
}

// untilSeen is how long a pass has to wait until the cache has seen the operator's own status. The pass would plan on the old one, and the
// status of that pass would be a conflict. The pause doubles. If the watch hangs, that must not keep the operator from what members need,
// so the wait ends after unseenLimit. The result is 0 or less if the pass need not wait.
func (known *remembered) untilSeen(cluster *v1beta2.EtcdCluster, now time.Time) time.Duration {
	passed := now.Sub(known.wrote.at)
	if known.wrote.version == "" || passed < 0 {
		return 0
	}
	if order, err := resourceversion.CompareResourceVersion(cluster.ResourceVersion, known.wrote.version); err != nil || order >= 0 {
		return 0
	}
	return min(max(passed, plan.RequeueConflict), unseenLimit-passed)
}

// foundBehind ends a pass that found the cache behind. A watch mostly ends that within a second. If it lasts, the status
// reports it: until then the operator does nothing, and nothing else would show why.
func (r *Reconciler) foundBehind(ctx context.Context, v *view, what error) (ctrl.Result, error) {
	b := &v.known.behind
	again := ctrl.Result{RequeueAfter: b.found(v.Now)}
	log.FromContext(ctx).V(1).Info("the cache was behind, nothing was done", "cause", what)
	if v.Now.Sub(b.since) < behindGrace {
		return again, nil
	}
	if b.what == "" {
		b.what = strings.TrimSuffix(what.Error(), ": "+errBehind.Error())
	}
	return again, r.reportWait(ctx, v, plan.CacheBehind(b.what, b.since))
}

// reportWait writes why passes take no step into the live EtcdCluster, because the cached one may be behind.
func (r *Reconciler) reportWait(ctx context.Context, v *view, wait plan.Wait) error {
	var live v1beta2.EtcdCluster
	if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(v.cluster), &live); err != nil {
		return client.IgnoreNotFound(err)
	}
	after := live.DeepCopy()
	plan.NoteBehind(&after.Status, wait, live.Generation, v.Now)
	changed, err := kube.PatchStatus(ctx, r.Client, &live, after)
	if apierrors.IsConflict(err) {
		return nil // the next pass reports it
	}
	if err == nil && changed {
		kube.PublishEvents(r.Events, after, plan.Events(v.State, wait, nil, true))
	}
	return err
}
