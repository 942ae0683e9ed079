package steps

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
)

type (
	// RenewURL starts to replace the signed URL.
	RenewURL struct{}
	// RecordURL stores what became of that.
	RecordURL struct{ URL v1beta2.SignedURLStatus }
)

func (RenewURL) Describe(s state.State) planning.Description {
	return asReported(s)
}

func (step RecordURL) Describe(s state.State) planning.Description {
	d := asReported(s)
	if before := s.Restore.Status.SignedURL; before != nil && before.SecretName != "" && step.URL.SecretName == "" {
		d.Events = []planning.Event{{Type: corev1.EventTypeWarning, Reason: "SignedURLRevoked", Action: actionRestore, Note: planning.Shorten(
			planning.Sentence("The operator deleted the signed URL for the seed: ", step.URL.Message)+" A seed that has not read the snapshot yet needs rights of its own.", planning.MaxNote)}}
		return d
	}
	if step.URL.Message != "" {
		d.Events = []planning.Event{{Type: corev1.EventTypeWarning, Reason: "SignedURLNotRenewed", Action: actionRestore, Note: planning.Shorten(
			planning.Sentence("The signed URL for the seed could not be renewed: ", step.URL.Message)+" The operator tries again.", planning.MaxNote)}}
	}
	return d
}
