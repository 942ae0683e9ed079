package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// Nobody corrected the clock of the operator's node. All certificates expired, and so did the CA, while the operator waited for the
// clocks to agree.
func TestCertificatesDoNotExpireWhileTheClocksDifferForEver(t *testing.T) {
	days := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * 24 * time.Hour} }
	spec := &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{Duration: days(20), RenewBefore: days(8), CADuration: days(60), CARenewBefore: days(30)}}
	for name, skew := range map[string]time.Duration{
		"the operator's clock is an hour behind":    -time.Hour,
		"the operator's clock is 10 years ahead":    10 * year,
		"the operator's clock is as old as its RTC": -50 * year,
	} {
		t.Run(name, func(t *testing.T) {
			w := newRotation(t, 1, spec)
			var seen clock.Seen
			begun, renewed, reported := w.s.Now, 0, 0
			for passed := time.Duration(0); passed < days(100).Duration; passed += 24 * time.Hour {
				for pass := range 4 {
					now := begun.Add(passed + time.Duration(pass)*time.Minute)
					w.s.Now = now.Add(skew)
					certificates.NoteClock(&w.s, -skew)
					w.judge()
					certificates.CorrectTimes(&w.s, &seen)
					step := w.plan(w.s)
					switch step := step.(type) {
					case steps.WriteCertificates:
						renewed++
						if !w.s.Certificates.Urgent {
							t.Fatalf("after %s: certificates are written although that can wait: %s", passed, step.Cause)
						}
					case steps.Wait:
						if step.Reason == v1beta2.ReasonClockSkew && step.Stalled {
							reported++
						}
					}
					w.act(step)
					w.s.Now = now
					for i, l := range w.members {
						l.down = max(0, l.down-1)
						w.load(i)
					}
				}
				w.look()
				w.check()
				w.report()
				if invalid := w.invalid(); len(invalid) > 0 {
					t.Fatalf("after %s nobody accepts the certificates of %v", passed, invalid)
				}
			}
			if renewed < 5 || reported < 50 {
				t.Errorf("%d times certificates are written, and %d passes report the clock", renewed, reported)
			}
			if ca, err := material.Current(w.m); err != nil || !ca.Certificate().NotAfter.After(begun.Add(days(100).Duration)) {
				t.Errorf("the CA was not replaced (%v)", err)
			}
		})
	}
}

// The clocks differ, and the CA expires before all certificates that it has signed are due. If the operator waited for the clocks, no client would be accepted any more.
func TestACAThatIsAboutToExpireIsReplacedAlthoughTheClocksDiffer(t *testing.T) {
	days := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * 24 * time.Hour} }
	spec := &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{Duration: days(20), RenewBefore: days(2), CADuration: days(60), CARenewBefore: days(58)}}
	w := newRotation(t, 1, spec)
	for passed, urgent := range map[time.Duration]bool{24 * time.Hour: false, 15 * 24 * time.Hour: false, 32 * 24 * time.Hour: true} {
		w.s.Now = noon.Add(passed)
		w.s.ServerAhead = time.Hour
		if is := w.m.Judge(w.s, state.Certificates{}).Urgent; is != urgent {
			t.Errorf("after %s, it is urgent: %t", passed, is)
		}
	}
}
