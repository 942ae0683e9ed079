package kube

import (
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// maxRefusal is how many bytes of an answer of the API server a message quotes.
const maxRefusal = 500

// Refused reports whether the API server refuses a request for good: the same request fails until somebody changes a policy, a quota, a
// limit, a permission or the spec. It returns false for failures that pass: conflicts, timeouts, a webhook that cannot be reached.
func Refused(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return false // a namespace that is being deleted takes no objects, and will not exist for long
	}
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err) || denied(err)
}

// denied reports whether a policy or a webhook refused a request. Both choose the code of their answer.
func denied(err error) bool {
	return strings.Contains(err.Error(), "denied the request") || strings.Contains(err.Error(), "denied request")
}

// RefusalMessage says what the API server refuses, what that means and what to do. err names the act and the object.
func RefusalMessage(err error) string {
	return planning.Sentence("Kubernetes refuses an object of the operator: ", planning.Quote(err.Error(), maxRefusal)) +
		" What depends on the object waits. Correct what the answer names: the spec, an admission policy or webhook, a quota, a LimitRange, or the permissions of the operator. " +
		"The operator tries again at least every 30 s."
}

// ReportRefusedStatus publishes an event if the API server refuses the status of a resource for good: then no condition can report it.
func ReportRefusedStatus(recorder events.EventRecorder, resource client.Object, err error) {
	if !Refused(err) {
		return
	}
	PublishEvents(recorder, resource, []planning.Event{{
		Type: corev1.EventTypeWarning, Reason: v1beta2.ReasonObjectRefused, Action: "WriteStatus",
		Note: planning.Shorten(planning.Sentence("Kubernetes refuses the status, so the status that you see is old: ", planning.Quote(err.Error(), maxRefusal))+
			" Correct the admission policy or webhook that the answer names.", planning.MaxNote),
	}})
}
