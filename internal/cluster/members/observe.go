package members

import (
	"context"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// ObserveEtcd asks every member with an address, side by side. It returns false if some have yet to answer.
func (r *Questions) ObserveEtcd(ctx context.Context, v *view.View) bool {
	answers, asked := make([]Answer, len(v.Members)), map[int]*Question{}
	known := r.Memory.OfView(v)
	v.Awaited = known.awaited()
	for i, m := range v.Members {
		if v.Addresses[m.Name] == "" || (m.Pod != state.PodRunning && !m.Released()) {
			answers[i].Err = ErrNoAddress
			continue
		}
		asked[i] = r.questionFor(v, m.Name)
	}
	if questions := slices.Collect(maps.Values(asked)); !r.await(ctx, questions, v.Patience) {
		r.leave(v, questions)
		return false
	}
	for i, q := range asked {
		answers[i], q.used = q.answer, true
	}
	known.keepAsked(asked)
	identify(v, answers)
	for i := range v.Members {
		Hear(&v.Members[i], answers[i])
	}
	if membership := membershipOf(v, answers); membership != nil {
		state.Enroll(&v.State, membership)
	}
	recovery.HearWitness(&v.State)
	r.silence.Saw(client.ObjectKey{Namespace: v.Namespace, Name: v.Name}, &v.State)
	r.observeHashes(ctx, v)
	return true
}

// Hear writes into a member what it has answered.
func Hear(m *state.Member, a Answer) {
	m.Refusal = a.refusal
	if a.Err != nil {
		if m.Pod == state.PodRunning {
			m.Unanswered = etcd.Cause(a.Err)
		}
		m.RaftIndex, m.Guarded = a.applied, a.guarded
		return
	}
	m.Answers = true
	if m.Released() {
		m.Pod = state.PodRunning // its kubelet reports that up to a second later
	}
	m.ID, m.ClusterID = a.status.MemberID, a.status.ClusterID
	m.Learner, m.Leader = a.status.Learner, a.status.Leader()
	m.Version, m.DBSize, m.Revision = a.status.Version, a.status.DBSize, a.status.Revision
	m.RaftIndex, m.RaftTerm, m.Knows = a.status.RaftIndex, a.status.RaftTerm, a.knows
	m.DBSizeInUse, m.DBQuota, m.Alarms = a.status.DBSizeInUse, a.status.DBQuota, a.status.Alarms()
	m.StorageVersion, m.Downgrade, m.AppliedIndex = a.status.StorageVersion, a.status.Downgrade, int64(a.status.AppliedIndex)
	m.Serving = a.serving == nil && !a.status.Learner
	if a.serving != nil {
		m.Unanswered = "it cannot reach a quorum"
		if etcd.RefusalOf(a.serving) != etcd.NotRefused {
			m.Unanswered = etcd.Cause(a.serving)
		}
	}
}

// membership is what a member of the current incarnation, behind which a quorum stands, said of it.
func membershipOf(v *view.View, answers []Answer) []etcd.Member {
	incarnation := max(v.Incarnation, state.FirstIncarnation)
	for i, a := range answers {
		if v.Members[i].Incarnation == incarnation && len(a.membership) > 0 {
			return a.membership
		}
	}
	return nil
}
