package cluster

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// endRemembered ends a pass whose step was planned on what a silent member answered to an earlier pass.
func (r *Reconciler) endRemembered(ctx context.Context, v *view.View) (ctrl.Result, error) {
	err := r.foundUnanswered(ctx, v)
	return r.questions.Memory.OfView(v).AskAgain(), err
}

// foundUnanswered ends a pass that took no step because members hang or answer too late. The next pass mostly has their answers. If all
// passes of a minute end like this, the status reports it: nothing else would show why the operator does nothing.
func (r *Reconciler) foundUnanswered(ctx context.Context, v *view.View) error {
	u := &r.memory.OfView(v).unanswered
	u.found(v.Now)
	if v.Now.Sub(u.since) < behindGrace {
		return nil
	}
	if u.what == "" {
		u.what = r.questions.Memory.OfView(v).UnansweredMembers()
	}
	return r.reportWait(ctx, v, plan.MembersUnanswered(u.what, u.since))
}
