package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// Another party reversed what the operator did about certificates: a finalizer kept the Certificate of a user that had left, a webhook rewrote one, an old
// CRD dropped status.userCertificates, or a webhook took tls.crt out of the Secret of the CA. Each pass did the same again and ended, so no member was
// repaired any more.
func TestWhatOthersReverseAboutCertificatesOfUsersHoldsUpNoRepair(t *testing.T) {
	shop := func(s *state.State) {
		s.Spec.TLS = issuedFor(time.Hour)
		s.Spec.Auth = &v1beta2.AuthPolicy{Users: []v1beta2.AuthUser{{Name: "shop", Certificate: &v1beta2.AuthCertificate{}}}}
		for i := range s.Members {
			s.Members[i].SecurePeer, s.Members[i].SecureClient = true, true
		}
	}
	for name, test := range map[string]struct {
		change change
		step   steps.Step
	}{
		"a finalizer keeps a Certificate": {func(s *state.State) {
			s.RequestedUsers, s.UserCertificates.Left = []string{"old", "shop"}, []string{"old"}
		},
			steps.WithdrawUserCertificates{What: "user old"}},
		"a webhook rewrites a Certificate": {func(s *state.State) {
			s.RequestedUsers, s.UserCertificates.Requests = []string{"shop"}, []string{"shop"}
		}, steps.RequestUserCertificates{What: "user shop"}},
		"an old CRD drops the field of the status": {func(s *state.State) { s.UserCertificates.Requests = []string{"shop"} }, steps.AnnounceUserCertificates{Users: 1}},
		"a webhook takes tls.crt out of the Secret of the CA": {func(s *state.State) {
			s.Spec.TLS = managedFor(time.Hour)
			s.Certificates.CA = state.CertificateAuthority{Exists: true, Incomplete: "it has none"}
		}, steps.HandOutCA{Cause: "it has none"}},
	} {
		t.Run(name, func(t *testing.T) {
			var repeats Repeats
			s := stateWith(formed, members(3), shop, func(s *state.State) { s.Certificates.Requested = true }, test.change)
			if step := Plan(s); step != test.step {
				t.Fatalf("the first step is %#v", step)
			}
			writes := 0
			for range 10 * 60 {
				s.Held = repeats.Held(1, s.Now)
				step := Plan(s)
				if step == test.step {
					writes++
				}
				repeats.Did(s, step, 1, s.Now)
				s.Now = s.Now.Add(time.Second)
			}
			if writes != repeatsBeforeHold {
				t.Errorf("%d times in 10 minutes, want %d", writes, repeatsBeforeHold)
			}
			if wait, waits := Plan(s).(steps.Wait); !waits || wait.Reason != v1beta2.ReasonChangedByOthers {
				t.Errorf("the status says %+v", Plan(s))
			}
		})
	}
}

// The Certificate of a user that had left could not be deleted, and no user that came got one.
func TestACertificateThatCannotBeDeletedHoldsUpNoRequest(t *testing.T) {
	s := stateWith(formed, members(3), func(s *state.State) {
		s.Spec.TLS, s.RequestedUsers = issuedFor(time.Hour), []string{"old", "shop"}
		s.UserCertificates.Left, s.UserCertificates.Requests = []string{"old"}, []string{"shop"}
	})
	Refuse(&s, certificates.RequestUsers(s))
	if step := certificates.RequestUsers(s); step != (steps.RequestUserCertificates{What: "user shop"}) {
		t.Errorf("after the refusal, the step is %s", fmt.Sprintf("%#v", step))
	}
}
