package plan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

func withURL(s *state.State) {
	url := SignedUntil(s.Now, "etcdrestore-uid", s.Now.Add(time.Hour))
	s.Restore.Status.SignedURL = &url
}

func revoked(s *state.State) { s.Revoked = true }

// A namespace that had lost the right kept a URL that could read the snapshot for half an hour more.
func TestALostRightRevokesTheSignedURLAtOnce(t *testing.T) {
	seeding := withProgress(v1beta2.RestoreSeeding)
	if step := next(given(withProven, seeding, withURL)); step == steps.Step(steps.RenewURL{}) {
		t.Error("a URL that is allowed is renewed at once")
	}
	lost := given(withProven, seeding, withURL, revoked)
	if step := next(lost); step != steps.Step(steps.RenewURL{}) {
		t.Fatalf("the next step is %+v", step)
	}
	lost.Renewal = state.Renewal{Progress: state.ProofDone, URL: NotSigned(lost.Now, v1beta2.SignedURLStatus{}, "it is not allowed")}
	step := next(lost)
	events := step.Describe(lost).Events
	if _, record := step.(steps.RecordURL); !record || len(events) != 1 || events[0].Reason != "SignedURLRevoked" || !strings.Contains(events[0].Note, "it is not allowed") {
		t.Errorf("%+v with the events %+v", step, events)
	}
	lost.Restore.Status.SignedURL, lost.Revoked = &lost.Renewal.URL, false
	if step := next(lost); step == steps.Step(steps.RenewURL{}) {
		t.Error("it is revoked again and again")
	}
}

// If Kubernetes refuses the deletion of the Secret, the operator must not try without a pause.
func TestARevocationThatFailsIsTriedAgainAfterAPause(t *testing.T) {
	s := given(withProven, withProgress(v1beta2.RestoreSeeding), withURL, revoked)
	url := NotSignedYet(s.Now, *s.Restore.Status.SignedURL, "refused")
	s.Restore.Status.SignedURL = &url
	if left, due := s.RenewalIn(); !due || left != state.RenewalPause {
		t.Errorf("due %v in %s", due, left)
	}
	s.Now = s.Now.Add(state.RenewalPause)
	if step := next(s); step != steps.Step(steps.RenewURL{}) {
		t.Errorf("after the pause the next step is %+v", step)
	}
	s.Restore.Status.CompletionTime = &metav1.Time{Time: s.Now}
	if _, due := s.RenewalIn(); due {
		t.Error("a restore that has ended has a URL to renew")
	}
}
