package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Refusals of policy wait for a person. Failures that pass are only retried.
func TestRefusalsAreToldFromFailuresThatPass(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	ending := apierrors.NewForbidden(secrets, "x", errors.New("unable to create new content in namespace ns because it is being terminated"))
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	answer := func(code int32, reason metav1.StatusReason, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
	}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"a ValidatingAdmissionPolicy":             {answer(422, metav1.StatusReasonInvalid, "ValidatingAdmissionPolicy 'label' with binding 'all' denied request: label team is missing"), true},
		"a policy that chooses another code":      {answer(401, metav1.StatusReasonUnauthorized, "ValidatingAdmissionPolicy 'label' with binding 'all' denied request: no"), true},
		"a webhook without a code":                {answer(400, metav1.StatusReasonBadRequest, `admission webhook "x" denied the request: no`), true},
		"a webhook with a code of its own":        {answer(500, "", `admission webhook "x" denied the request: no`), true},
		"a quota":                                 {apierrors.NewForbidden(secrets, "x", errors.New("exceeded quota: q, requested: count/secrets=1")), true},
		"a LimitRange":                            {apierrors.NewForbidden(secrets, "x", errors.New("minimum storage usage per PersistentVolumeClaim is 8Gi")), true},
		"annotations above the limit":             {apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "x", nil), true},
		"an object that is too large":             {apierrors.NewRequestEntityTooLargeError("limit is 3145728"), true},
		"wrapped and joined":                      {errors.Join(errors.New("other"), fmt.Errorf("create Secret x: %w", apierrors.NewForbidden(secrets, "x", errors.New("no")))), true},
		"a conflict":                              {apierrors.NewConflict(secrets, "x", errors.New("changed")), false},
		"an object that exists":                   {apierrors.NewAlreadyExists(secrets, "x"), false},
		"a webhook that cannot be reached":        {apierrors.NewInternalError(errors.New(`failed calling webhook "x": connection refused`)), false},
		"a server that is overloaded":             {apierrors.NewTooManyRequests("later", 1), false},
		"a server that is not available":          {apierrors.NewServiceUnavailable("starting"), false},
		"a timeout":                               {apierrors.NewTimeoutError("later", 1), false},
		"a pass that is out of time":              {context.DeadlineExceeded, false},
		"a namespace that is being deleted":       {ending, false},
		"no answer of the API server, but a word": {errors.New("etcdserver: request denied"), false},
		"no error":                                {nil, false},
	} {
		if got := Refused(test.err); got != test.want {
			t.Errorf("%s: refused: %t, want %t", name, got, test.want)
		}
	}
}

func TestTheMessageOfARefusalIsOneBoundedLineWithTheAnswer(t *testing.T) {
	message := RefusalMessage(fmt.Errorf("create Secret x: %w", errors.New("denied:\nlabel team is missing "+strings.Repeat("y", 5000))))
	if len(message) > 1000 || strings.Contains(message, "\n") || !strings.Contains(message, "create Secret x: denied: label team is missing") {
		t.Errorf("%d bytes: %q", len(message), message)
	}
}
