package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// slowWorld plays a recovery. Each stop of a Pod takes a while, and the clocks may differ.
type slowWorld struct {
	stop       time.Duration
	skew       time.Duration // how far the clock of the operator is behind
	membership []etcd.Member // what each member that answers knows
	index      func(i int) uint64
	before     func(passed time.Duration, s *state.State) // is called before each pass; nil for nothing
}

// outcome is what was done within the limit, which member was started with --force-new-cluster, and whether it served alone.
type outcome struct {
	did    []string
	forced string
	served bool
}

const slowLimit = 6 * time.Hour

func (w slowWorld) from(s state.State, status v1beta2.EtcdClusterStatus) (o outcome) {
	do := doer(&s, &status)
	deleted := map[string]time.Time{}
	for passed := time.Duration(0); passed < slowLimit; passed += 10 * time.Second {
		now := noon.Add(passed)
		s.Now = now.Add(-w.skew)
		certificates.NoteClock(&s, w.skew)
		w.runPods(&s, deleted, now)
		if w.before != nil {
			w.before(passed, &s)
		}
		step := Plan(s)
		if _, waits := step.(steps.Wait); !waits {
			o.did = append(o.did, fmt.Sprintf("%s %T %s", passed, step, steps.Describe(s, step).Message))
		}
		switch step := step.(type) {
		case steps.RecordForced:
			o.served = true
			return o
		case steps.CreateMember:
			if step.Start == state.StartForce {
				o.forced = step.Name
			}
			created(&s, step)
		case steps.DeletePod:
			deleted[step.Name] = now
			m := memberOf(&s, step.Name)
			m.Pod, m.Answers, m.Knows, m.RaftIndex, m.GoneBy = state.PodDeleting, false, nil, 0, s.Now.Add(w.stop)
		case steps.RecordForcing:
			markAll(&s) // as the actor does before
			do(step)
		default:
			do(step)
		}
	}
	o.did = append(o.did, steps.Describe(s, Plan(s)).Message)
	return o
}

// runPods is what kubelets and etcd do between two passes.
func (w slowWorld) runPods(s *state.State, deleted map[string]time.Time, now time.Time) {
	for i := range s.Members {
		m := &s.Members[i]
		if m.Pod == state.PodDeleting && now.Sub(deleted[m.Name]) >= w.stop {
			with(i, withoutPod)(s)
			m.RaftIndex, m.Answers = 0, false
		}
		if m.Pod == state.PodStarting {
			m.Pod = state.PodRunning
		}
		if m.Pod == state.PodRunning && m.Start != state.StartForce && !m.Answers {
			m.RaftIndex = w.indexOf(i) // by its metrics
		}
		if m.Pod == state.PodRunning && m.Start == state.StartForce {
			voter(m)
			m.Start, m.Leader, m.Revision = state.StartForce, true, 17
			s.MembershipKnown, s.ForeignMembers = true, nil
		}
		if m.Pod == state.PodRunning && m.Answers && !m.Serving {
			m.Knows = w.membership
		}
	}
}

func (w slowWorld) indexOf(i int) uint64 {
	if w.index == nil {
		return 42
	}
	return w.index(i)
}

func created(s *state.State, step steps.CreateMember) {
	for i := range s.Members {
		if m := &s.Members[i]; m.Name == step.Name {
			with(i, pod(state.PodStarting))(s)
			m.Start, m.UnreadySince, m.EtcdSince, m.PodCreated, m.PodImage = step.Start, s.Now, s.Now, s.Now, s.ImageFor(1)
		}
	}
}

func memberOf(s *state.State, name string) *state.Member {
	for i := range s.Members {
		if s.Members[i].Name == name {
			return &s.Members[i]
		}
	}
	return &state.Member{}
}

// serves fails the test if the survivor does not serve alone at the end.
func (o outcome) serves(t *testing.T) {
	t.Helper()
	if o.served {
		return
	}
	for _, did := range o.did[:min(len(o.did), 24)] {
		t.Log(did)
	}
	t.Errorf("the survivor does not serve after %s; %d steps", slowLimit, len(o.did))
}

// isNot fails the test if a member was started with --force-new-cluster.
func (o outcome) isNot(t *testing.T, forced, why string) {
	t.Helper()
	for _, did := range o.did[:min(len(o.did), 24)] {
		t.Log(did)
	}
	if o.forced == forced {
		t.Errorf("%s starts with --force-new-cluster, although %s", forced, why)
	}
}
