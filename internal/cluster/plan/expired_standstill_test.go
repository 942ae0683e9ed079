package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// validNow reports whether all that members, the operator and clients show is accepted now.
func (w *rotation) validNow() bool {
	w.wrong, w.story = "", nil
	w.check()
	ok := w.wrong == ""
	w.wrong = ""
	return ok
}

// resume carries out the plan for days after a standstill. A quorum answers only if the members accept each other and the operator.
func (w *rotation) resume(days int) (story []string, serves bool) {
	since := w.s.Now
	for range days * 4 {
		w.s.Now = w.s.Now.Add(6 * time.Hour)
		for range 5 {
			w.s.Certificates = w.m.Judge(w.s, state.Certificates{Requested: true})
			runs := 0
			for _, m := range w.s.Members {
				if m.Pod == state.PodRunning {
					runs++
				}
			}
			serves = runs == len(w.s.Members) && w.validNow()
			w.s.MembershipKnown = serves
			for i := range w.s.Members {
				m, l := &w.s.Members[i], w.members[i]
				l.down = 0
				m.SecurePeer, m.SecureClient, m.InMembership, m.Started = true, true, true, true
				m.Serving, m.Answers, m.PodReady = serves, serves, serves
				m.UnreadySince, m.SilentSince = time.Time{}, time.Time{}
				if !serves {
					m.UnreadySince, m.SilentSince = since, since
				}
				m.ShowsNew = true
			}
			step := Plan(w.s)
			text := fmt.Sprintf("%s serves=%v %T: %s", w.s.Now.Format(time.DateTime), serves, step, steps.Describe(w.s, step).Message)
			if len(story) == 0 || len(story) < 40 && story[len(story)-1][20:] != text[20:] {
				story = append(story, text)
			}
			switch step := step.(type) {
			case steps.CreateMember:
				for i := range w.s.Members {
					if w.s.Members[i].Name == step.Name {
						w.s.Members[i].Pod, w.s.Members[i].PodCreated = state.PodRunning, w.s.Now
						w.start(i)
					}
				}
			default:
				w.act(step)
			}
		}
		for i := range w.members {
			w.load(i)
		}
		w.look()
	}
	return story, serves
}

// A cluster hibernates or is paused until its CA has expired, and its certificates expire together with the CA. After that the operator created a new
// CA, but it kept the expired certificates until a quorum answered. With them no quorum answers, so the user lost the cluster for good.
func TestAClusterServesAgainAfterAStandstillInWhichItsCAExpired(t *testing.T) {
	for name, set := range stands() {
		for _, days := range []int{80, 91} { // the CA is valid for 90
			t.Run(fmt.Sprintf("%s for %d days", name, days), func(t *testing.T) {
				w := newRotation(t, 1, shortCA())
				w.standStill(days, set)
				w.s.Spec.Hibernate, w.s.Spec.Paused = false, false
				story, serves := w.resume(6)
				if !serves {
					for _, u := range state.Usages {
						leaf, _ := w.m.Pair(u).Leaf()
						t.Logf("certificate of %ss: expired %s", u.Name, leaf.NotAfter.Format(time.DateOnly))
					}
					for _, line := range story {
						t.Log(line)
					}
					t.Errorf("no member serves %s, 6 days after the standstill; due: %q", w.s.Now.Format(time.DateOnly), w.s.Certificates.Due)
				}
			})
		}
	}
}

// stands are the two states in which only protection runs.
func stands() map[string]func(*state.State) {
	return map[string]func(*state.State){
		"hibernated": func(s *state.State) {
			s.Spec.Hibernate = true
			for i := range s.Members {
				s.Members[i].Pod, s.Members[i].Serving, s.Members[i].Answers, s.Members[i].PodReady = state.PodNone, false, false, false
			}
		},
		"paused": func(s *state.State) { s.Spec.Paused = true },
	}
}

// cert-manager's issuer gets another CA while a cluster hibernates or is paused, and the certificates of the CA before expire. cert-manager has issued
// valid ones in time. The operator handed them out only when a quorum answered, so the user lost the cluster although valid certificates existed.
func TestAClusterServesAgainWithTheCertificatesOfANewIssuer(t *testing.T) {
	for name, set := range stands() {
		t.Run(name, func(t *testing.T) {
			w := newRotation(t, 1, &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{}}) // certificates are valid for 41 days
			w.standStill(20, set)
			w.newIssuer()
			w.issue("peer", "server", "client", "operator") // valid until day 61
			w.standStill(25, set)
			w.s.Spec.Hibernate, w.s.Spec.Paused = false, false
			story, serves := w.resume(6)
			if !serves {
				for _, u := range state.Usages {
					held, _ := w.m.Pair(u).Leaf()
					issued, _ := w.m.IssuedPair(u).Leaf()
					t.Logf("it is %s. Certificate of %ss: in use until %s, issued until %s", w.s.Now.Format(time.DateOnly), u.Name, held.NotAfter.Format(time.DateOnly), issued.NotAfter.Format(time.DateOnly))
				}
				for _, line := range story {
					t.Log(line)
				}
				t.Error("no member serves 6 days after the standstill, although cert-manager has issued valid certificates")
			}
		})
	}
}

// A cluster is paused just after its CA was replaced. The previous CA then renewed its certificates, and they expired with it. The operator kept them,
// and no quorum answered after the pause.
func TestAClusterServesAgainAfterAPauseWithinARotation(t *testing.T) {
	for name, set := range stands() {
		for what, begins := range map[string]int{
			"the new CA is valid":                          20,
			"the new CA has expired, too, and is replaced": 0,
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				w := newRotation(t, 1, shortCA())
				w.standStill(begins, set)
				w.m.Rotate = "now"
				for range 2 { // a new CA, and all Secrets have both
					w.judge()
					w.act(certificates.IssueCertificates(w.s))
				}
				w.standStill(91-begins, set) // the CA before was valid for 90
				w.s.Spec.Hibernate, w.s.Spec.Paused = false, false
				if ca, err := material.Current(w.m); err != nil || material.Valid(w.s, ca) != (begins > 0) {
					t.Fatal("the current CA is not as the test needs it", err)
				}
				story, serves := w.resume(6)
				if !serves {
					for _, line := range story {
						t.Log(line)
					}
					t.Error("no member serves 6 days after the standstill")
				}
			})
		}
	}
}
