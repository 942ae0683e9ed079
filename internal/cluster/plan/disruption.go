package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Budget says how the PodDisruptionBudget stands, which lets a drain take as many members as quorum can spare.
type Budget struct {
	// Exists: the cluster has one. Current: but for the number it is as it should be for Incarnation.
	Exists, Current bool
	Incarnation     int32
	// MinAvailable is how many members a drain has to leave.
	MinAvailable int
	// Other names one that somebody else made for the same Pods. Kubernetes evicts no Pod that has two.
	Other string
}

type (
	// ApplyBudget makes the PodDisruptionBudget as it should be.
	ApplyBudget struct {
		Incarnation  int32
		MinAvailable int
	}
	// WithdrawBudget deletes it, because somebody else's is for the same Pods.
	WithdrawBudget struct{ Other string }
)

func (ApplyBudget) Reason() string            { return v1beta2.ReasonSettling }
func (WithdrawBudget) Reason() string         { return v1beta2.ReasonSettling }
func (ApplyBudget) Requeue() time.Duration    { return soon }
func (WithdrawBudget) Requeue() time.Duration { return soon }
func (s ApplyBudget) message(State) string {
	return fmt.Sprintf("letting drains go on as long as %d members are left", s.MinAvailable)
}
func (s WithdrawBudget) message(State) string {
	return "withdrawing the PodDisruptionBudget: " + s.Other + " is for the same Pods"
}

// budget keeps drains from taking quorum, and lets them go on. It is asked while a quorum answers, and before the
// membership changes: a learner that is about to vote is counted as a voter.
func budget(s State) Step {
	if !s.MembershipKnown {
		return nil
	}
	b := s.Budget
	if b.Other != "" {
		if b.Exists {
			return WithdrawBudget{Other: b.Other}
		}
		return nil
	}
	want := ApplyBudget{Incarnation: s.Incarnation, MinAvailable: s.minAvailable()}
	if b.Exists && b.Current && b.Incarnation == want.Incarnation && b.MinAvailable == want.MinAvailable {
		return nil
	}
	return want
}

// minAvailable is how many members a drain has to leave. A quorum, and with it one for each Pod that still looks
// like a voter and is none. A cluster that is meant to have one or two members cannot lose any and keep quorum: its
// members go one at a time and come back with their data, for else a drain would never end. With emptyDir they would
// not, and the drain has to wait for a person.
func (s State) minAvailable() int {
	voters, leaving := 0, 0
	for _, m := range s.Current() {
		switch {
		case !m.InMembership && m.Exposed && m.Pod == PodRunning:
			leaving++
		case m.InMembership && (!m.Learner || (m.Started && m.Answers)):
			voters++
		}
	}
	if s.Durable() && s.Spec.Size <= 2 && voters <= 2 && !slices.ContainsFunc(s.Current(), s.goesWithPod) {
		return max(voters-1, 0) + leaving
	}
	return etcd.Quorum(voters) + leaving
}
