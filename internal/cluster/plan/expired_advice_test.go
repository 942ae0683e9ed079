package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// refused is what the operator sees of members that refuse its certificate, and each other's: no Pod is ready for hours.
func (w *rotation) refused() {
	w.s.Certificates = w.m.Judge(w.s, state.Certificates{Requested: true})
	w.s.MembershipKnown = false
	for i := range w.s.Members {
		m := &w.s.Members[i]
		m.SecurePeer, m.SecureClient, m.InMembership, m.Started, m.Serving, m.Answers, m.PodReady = true, true, true, true, false, false, false
		m.UnreadySince, m.SilentSince = w.s.Now.Add(-3*time.Hour), w.s.Now.Add(-3*time.Hour)
	}
}

// run carries out the plan while the members refuse the certificates.
func (w *rotation) run() string {
	message := ""
	for range 10 {
		w.refused()
		step := Plan(w.s)
		message = steps.Describe(w.s, step).Message
		w.act(step)
	}
	for i := range w.members {
		w.load(i)
	}
	return message
}

// The data of the members is in their Pods, so no member restarts for the CA that replaced another one. The status advises to put the CA before back. A user
// who does that waited for ever: the certificates of the new CA were kept until a quorum answers.
func TestTheCAThatIsPutBackSignsAgain(t *testing.T) {
	t.Run("cert-manager: the issuer", func(t *testing.T) {
		w := newRotation(t, 1, &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{}})
		ephemeral(&w.s)
		before := w.issuer
		paused := func(s *state.State) { s.Spec.Paused = true }
		w.standStill(20, paused)
		w.newIssuer()
		w.issue("peer", "server", "client", "operator")
		w.standStill(25, paused) // the certificates of the CA before have expired
		w.s.Spec.Paused = false
		if said := w.run(); !strings.Contains(said, "Put the previous CA back") {
			t.Fatal(said)
		}
		w.issuer = before
		w.issue("peer", "server", "client", "operator")
		if said := w.run(); !w.asks(0) {
			t.Errorf("the members refuse the operator although their CA is back: %s", said)
		}
	})
	t.Run("managed: the Secret of the CA", func(t *testing.T) {
		w := newRotation(t, 1, managedFor(time.Hour))
		ephemeral(&w.s)
		before := w.m.CA
		w.s.Now = w.s.Now.Add(24 * time.Hour)
		w.m.CA = nil
		for _, u := range state.Usages {
			delete(w.m.HandedOut, u.Name) // a namespace is restored from a backup without Secrets
		}
		if said := w.run(); !strings.Contains(said, "Put the previous CA back") {
			t.Fatal(said)
		}
		w.m.CA = before
		if said := w.run(); !w.asks(0) {
			t.Errorf("the members refuse the operator although their CA is back: %s", said)
		}
	})
}

// Following an advice that cannot help costs a user hours in an outage: nobody accepts what a CA signs that has expired.
func TestNobodyIsAdvisedToPutAnExpiredCABack(t *testing.T) {
	w := newRotation(t, 1, shortCA())
	ephemeral(&w.s)
	w.standStill(91, func(s *state.State) { s.Spec.Paused = true })
	w.s.Spec.Paused = false
	if said := w.run(); strings.Contains(said, "Put the previous CA back") {
		t.Errorf("the previous CA has expired, and the status says: %s", said)
	}
}

// The certificates of a cluster have expired, and no new ones can be issued. No quorum answers for that reason, and the status named only the members.
func TestTheStatusOfALostQuorumSaysThatCertificatesHaveExpired(t *testing.T) {
	for name, broken := range map[string]func(*rotation){
		"the Secret of the CA is invalid": func(w *rotation) { w.m.CA.Data[material.CAKeyKey] = []byte("x") },
		"cert-manager issues nothing":     func(*rotation) {},
	} {
		t.Run(name, func(t *testing.T) {
			tls := shortCA()
			if strings.HasPrefix(name, "cert-manager") {
				tls = &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{}}
			}
			w := newRotation(t, 1, tls)
			broken(w)
			w.s.Now = w.s.Now.Add(100 * 24 * time.Hour)
			if said := w.run(); !strings.Contains(said, "expired") || strings.Contains(said, "delete their") {
				t.Errorf("%s", said)
			}
		})
	}
}

// One of three Pods is on a node that is gone for good, and cannot be deleted. The two others only need a restart for the CA that replaced an expired one.
func TestMembersRestartForTheNewCABesideAMemberOnALostNode(t *testing.T) {
	for name, lost := range map[string]func(*state.Member){
		"its Pod is stopping, and nobody confirms that": func(m *state.Member) { m.Pod, m.GoneBy, m.NodeSilent = state.PodDeleting, m.UnreadySince, true },
		"it has neither Pod nor volume":                 func(m *state.Member) { m.Pod, m.Volume = state.PodNone, state.VolumeNone },
	} {
		t.Run(name, func(t *testing.T) {
			w := newRotation(t, 1, shortCA())
			w.standStill(91, func(s *state.State) { s.Spec.Paused = true })
			w.s.Spec.Paused = false
			since := w.s.Now
			stopped, said := map[string]bool{}, ""
			for range 60 {
				w.s.Now = w.s.Now.Add(time.Minute)
				w.refused()
				w.s.Members[2].GoneBy = since
				lost(&w.s.Members[2])
				step := Plan(w.s)
				said = steps.Describe(w.s, step).Message
				if stop, is := step.(steps.DeletePod); is {
					stopped[stop.Name] = true
				}
				w.act(step)
				for i := range w.members {
					w.members[i].down = 0
				}
			}
			if len(stopped) < 2 {
				t.Errorf("%d members restart within an hour; the status says: %s", len(stopped), said)
			}
		})
	}
}

// Two members have restarted for a new CA, and are a quorum. The third one refuses them until it restarts, too. It was replaced, or it stayed down for the
// grace period of the spec.
func TestAMemberThatOnlyLacksTheNewCAIsRestartedAndNotReplaced(t *testing.T) {
	for _, d := range []time.Duration{5 * time.Minute, 24 * time.Hour} {
		s := stateWith(formed, members(3), managed, grace(d), with(2, pod(state.PodRunning), unreadyFor(10*time.Minute), func(m *state.Member) { m.Trust = "old" }))
		stop, is := Plan(s).(steps.DeletePod)
		if !is || stop.Name != nameOf(2) {
			t.Errorf("grace period %s: %T %s", d, Plan(s), steps.Describe(s, Plan(s)).Message)
		}
	}
}

// The CAs in the Secrets change every three minutes, and each change restarts the member. It has failed for an hour, so the CAs are not the cause.
func TestAMemberThatARestartForANewCADidNotHelpIsReplaced(t *testing.T) {
	failing := func(m *state.Member) {
		m.Trust, m.FailingSince, m.UnreadySince, m.PodCreated = "old", noon.Add(-time.Hour), noon.Add(-2*time.Minute), noon.Add(-2*time.Minute)
	}
	s := stateWith(formed, members(3), managed, with(2, pod(state.PodRunning), failing))
	if remove, is := Plan(s).(steps.RemoveMember); !is || remove.Name != nameOf(2) {
		t.Errorf("%T %s", Plan(s), steps.Describe(s, Plan(s)).Message)
	}
	for name, change := range map[string]func(*state.Member){
		"it has failed for less than the grace period": func(m *state.Member) { m.FailingSince = noon.Add(-4 * time.Minute) },
		"it was restarted before it failed":            func(m *state.Member) { m.PodCreated, m.UnreadySince = noon.Add(-2*time.Hour), noon.Add(-time.Hour) },
	} {
		s := stateWith(formed, members(3), managed, with(2, pod(state.PodRunning), failing, change))
		if stop, is := Plan(s).(steps.DeletePod); !is || stop.Name != nameOf(2) {
			t.Errorf("%s: %T %s", name, Plan(s), steps.Describe(s, Plan(s)).Message)
		}
	}
}
