package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// shrink leaves n members of a rotation.
func (w *rotation) shrink(n int) {
	w.s.Members, w.members, w.s.Spec.Size, w.s.KnownVoters = w.s.Members[:n], w.members[:n], n, w.s.KnownVoters[:n]
}

// asks reports whether the operator and a member accept each other's certificates now.
func (w *rotation) asks(i int) bool {
	w.wrong, w.story = "", nil
	l := w.members[i]
	w.trusted("member trusts the operator", l.trusts, w.m.Operator(w.s).Get(v1beta2.ClientCertKey))
	w.trusted("the operator trusts the member", pki.ParseBundle(w.m.Operator(w.s).Get(v1beta2.ClientCAKey)), l.server)
	ok := w.wrong == ""
	w.wrong = ""
	return ok
}

// resumeConnected carries out the plan for hours after a standstill. Nobody has stopped the members, so their connections of before the expiry are open:
// TLS checks a certificate when a connection begins. The probes of the kubelet use plain HTTP. So the Pods stay ready until they restart. One that restarts
// before the others has no quorum until they follow.
func (w *rotation) resumeConnected(hours int) (story []string, serves bool) {
	since, restarted := w.s.Now, make([]bool, len(w.members))
	for range hours * 12 {
		w.s.Now = w.s.Now.Add(5 * time.Minute)
		w.s.Certificates = w.m.Judge(w.s, state.Certificates{Requested: true})
		connected := 0
		for i := range w.members {
			if !restarted[i] && w.s.Members[i].Pod == state.PodRunning {
				connected++
			}
		}
		together := w.validNow()
		serves = together
		for i := range w.s.Members {
			m := &w.s.Members[i]
			m.SecurePeer, m.SecureClient, m.InMembership, m.Started, m.InService = true, true, true, true, true
			if m.Pod == state.PodNone {
				m.Pod = state.PodRunning
			}
			quorum := together || !restarted[i] && connected >= etcd.Quorum(len(w.members))
			m.PodReady, m.Answers, m.RaftIndex = quorum, quorum && w.asks(i), 10 // one that was started without a quorum shows its metrics only
			m.Serving = quorum && m.Answers
			m.UnreadySince, m.SilentSince = time.Time{}, time.Time{}
			if !m.PodReady {
				m.UnreadySince = since
			}
			if !m.Serving {
				m.SilentSince = since
			}
			m.ShowsNew = true
		}
		w.s.MembershipKnown = w.s.Members[0].Serving
		step := Plan(w.s)
		text := fmt.Sprintf("%s serves=%v %T: %s", w.s.Now.Format(time.DateTime), serves, step, steps.Describe(w.s, step).Message)
		if len(story) == 0 || len(story) < 40 && story[len(story)-1][20:] != text[20:] {
			story = append(story, text)
		}
		if stop, is := step.(steps.DeletePod); is {
			for i := range w.s.Members {
				restarted[i] = restarted[i] || w.s.Members[i].Name == stop.Name
			}
		}
		w.act(step)
		for i := range w.members {
			w.members[i].down = 0
			w.load(i)
		}
		w.look()
	}
	return story, serves
}

// A cluster is paused until its CA has expired, and its members run on. The Pods are ready: the members keep the connections that they opened before, and
// a cluster of one needs none. The operator replaces the CA, and all members refuse its certificate and those of new clients, because
// they were started with the CA before. A Pod that is ready was never restarted, so nobody could connect any more.
func TestMembersThatAreReadyLearnOfTheCAThatReplacedAnExpiredOne(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprintf("managed, %d members", n), func(t *testing.T) {
			w := newRotation(t, 1, shortCA())
			w.shrink(n)
			w.standStill(91, func(s *state.State) { s.Spec.Paused = true })
			w.s.Spec.Paused = false
			w.mustServe(w.resumeConnected(24))
		})
		t.Run(fmt.Sprintf("cert-manager, %d members", n), func(t *testing.T) {
			w := newRotation(t, 1, &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{}})
			w.shrink(n)
			paused := func(s *state.State) { s.Spec.Paused = true }
			w.standStill(20, paused)
			w.newIssuer()
			w.issue("peer", "server", "client", "operator")
			w.standStill(25, paused)
			w.s.Spec.Paused = false
			w.mustServe(w.resumeConnected(24))
		})
	}
}

func (w *rotation) mustServe(story []string, serves bool) {
	w.Helper()
	if serves {
		return
	}
	for _, line := range story {
		w.Log(line)
	}
	w.Error("nobody can connect to the members a day later")
}
