package plan

import (
	"fmt"
	"slices"
	"strings"
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

// A user replaced the hundred users of the spec again and again, and finalizers kept the Certificates of those before. The status named all of them, each pass
// read thousands of Certificates, and at last no status could be written.
func TestTheStatusNamesFewUsersThatHaveLeft(t *testing.T) {
	s := stateWith(formed, members(3), func(s *state.State) { s.Spec.TLS, s.Certificates.Requested = issuedFor(time.Hour), true })
	for generation := range 10 {
		s.UserCertificates.Left, s.UserCertificates.Requests = s.RequestedUsers, nil
		s.Spec.Auth = &v1beta2.AuthPolicy{}
		for n := range 100 {
			user := fmt.Sprintf("user-%d-%d", generation, n)
			s.Spec.Auth.Users = append(s.Spec.Auth.Users, v1beta2.AuthUser{Name: user, Certificate: &v1beta2.AuthCertificate{}})
			s.UserCertificates.Requests = append(s.UserCertificates.Requests, user)
		}
		if s.RequestedUsers = certificates.RequestedUsers(s); len(s.RequestedUsers) > certificates.MaxRequested {
			t.Fatalf("the status names %d users", len(s.RequestedUsers))
		}
		recorded, unrecorded := certificates.RecordedRequests(s)
		if want := max(0, 100-100*max(0, generation-1)); len(recorded) != want || len(unrecorded) > 0 {
			t.Errorf("in generation %d, %d users get a Certificate, and %d are to be named", generation, len(recorded), len(unrecorded))
		}
	}
	if wait, waits := certificates.UncertifiedUsers(s).(steps.Wait); !waits || !strings.Contains(wait.Message, "200 users that left") {
		t.Errorf("the status says %+v", certificates.UncertifiedUsers(s))
	}
	s.UserCertificates.Gone, s.UserCertificates.Left = s.RequestedUsers[:1], s.RequestedUsers[1:]
	if step := certificates.RequestedUsers(s); !slices.Contains(step, "user-9-0") || slices.Contains(step, "user-9-1") {
		t.Error("after one was deleted, the next user has no place")
	}
}
