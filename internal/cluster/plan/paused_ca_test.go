package plan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// shortCA is TLS.managed with short times that the API accepts.
func shortCA() *v1beta2.TLSPolicy {
	days := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * 24 * time.Hour} }
	return &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{Duration: days(10), RenewBefore: days(3), CADuration: days(90), CARenewBefore: days(30), CAOverlap: days(1)}}
}

// standStill lets days pass in a state in which only protection runs. It carries out the plan each day, and fails if the plan does not come to rest.
func (w *rotation) standStill(days int, set func(*state.State)) {
	for range days {
		w.s.Now = w.s.Now.Add(24 * time.Hour)
		for n := 0; ; n++ {
			w.s.Certificates = w.m.Judge(w.s, state.Certificates{Requested: true})
			w.s.MembershipKnown = false
			set(&w.s)
			step := Plan(w.s)
			if !steps.Acts(step) {
				break
			}
			if n > 9 {
				w.Fatalf("%s: the plan is %#v again and again", w.s.Now.Format(time.DateOnly), step)
			}
			w.act(step)
		}
	}
}

// A user pauses a cluster for weeks. From caRenewBefore before the end of the CA on, the operator renewed no certificate any more, although the status
// said so. The members and all clients then refused each other, although the CA was valid for weeks.
func TestCertificatesOfAPausedClusterAreRenewedWhileItsCAIsValid(t *testing.T) {
	paused := func(s *state.State) { s.Spec.Paused = true }
	for name, test := range map[string]struct {
		days   int
		rotate string
	}{
		"the CA is not due":                                {50, ""},
		"the CA is due, and valid for 15 days":             {75, ""},
		"the user has requested a new CA before the pause": {50, "now"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRotation(t, 1, shortCA())
			w.m.Rotate = test.rotate
			w.standStill(test.days, paused)
			for _, u := range state.Usages {
				if leaf, err := w.m.Pair(u).Leaf(); err != nil || !leaf.NotAfter.After(w.s.Now) {
					t.Errorf("it is %s, and the certificate of %ss expired at %s (%v). The status says: %s",
						w.s.Now.Format(time.DateOnly), u.Name, leaf.NotAfter.Format(time.DateOnly), err, steps.Describe(w.s, Plan(w.s)).Message)
				}
			}
		})
	}
}

// A user who does not know that a pause or hibernation delays a new CA loses all connections when the present one expires.
func TestTheStatusReportsADueCAWhileNoneIsCreated(t *testing.T) {
	for name, set := range stands() {
		for days, want := range map[int]string{75: "expires at ", 95: "expired at "} {
			w := newRotation(t, 1, shortCA())
			w.standStill(days, set)
			message := steps.Describe(w.s, Plan(w.s)).Message
			if !strings.Contains(message, "A new certificate authority is needed, because the current one "+want) {
				t.Errorf("%s for %d days: %s", name, days, message)
			}
		}
	}
}

// The CA of a paused cluster has expired. What it signs is useless, so the operator must not write the Secrets again and again.
func TestAnExpiredCASignsNothing(t *testing.T) {
	w := newRotation(t, 1, shortCA())
	w.standStill(100, func(s *state.State) { s.Spec.Paused = true })
	delete(w.m.HandedOut, "client")
	w.standStill(1, func(s *state.State) { s.Spec.Paused = true })
	if w.m.HandedOut["client"] != nil {
		t.Error("a certificate is signed by a CA that has expired")
	}
}
