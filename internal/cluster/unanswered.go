package cluster

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// endPending ends a pass whose members have yet to answer.
func (r *Reconciler) endPending(ctx context.Context, v *view) (ctrl.Result, error) {
	switch err := r.createMissing(ctx, v); {
	case errors.Is(err, errBehind):
		return r.foundBehind(ctx, v, err)
	case err != nil:
		return handOver(), err
	}
	return handOver(), r.foundUnanswered(ctx, v)
}

// endRemembered ends a pass whose step was planned on what a silent member answered to an earlier pass.
func (r *Reconciler) endRemembered(ctx context.Context, v *view) (ctrl.Result, error) {
	err := r.foundUnanswered(ctx, v)
	return v.known.askAgain(), err
}

// foundUnanswered ends a pass that took no step because members hang or answer too late. The next pass mostly has their answers. If all
// passes of a minute end like this, the status reports it: nothing else would show why the operator does nothing.
func (r *Reconciler) foundUnanswered(ctx context.Context, v *view) error {
	u := &v.known.unanswered
	u.found(v.Now)
	if v.Now.Sub(u.since) < behindGrace {
		return nil
	}
	if u.what == "" {
		u.what = v.known.unansweredMembers()
	}
	return r.reportWait(ctx, v, plan.MembersUnanswered(u.what, u.since))
}

// unansweredMembers names the members that hang or have yet to answer.
func (known *remembered) unansweredMembers() string {
	var names []string
	for member, q := range known.questions {
		if !q.isDone() || q.hung {
			names = append(names, member)
		}
	}
	slices.Sort(names)
	return cmp.Or(strings.Join(names, ", "), "all of them")
}
