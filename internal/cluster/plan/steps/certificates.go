package steps

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// CreateCA makes the certificate authority of a cluster (TLS.managed). If one was lost, the certificates that it signed are still trusted.
type CreateCA struct{}

func (CreateCA) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonIssuingCertificates,
		Message: "The operator is creating the certificate authority of the cluster.",
		Requeue: state.RequeueSoon,
	}, "MakingAuthority", cluster)
}

// ReplaceCA puts another certificate authority beside the current one, which it keeps as the previous one with its key.
type ReplaceCA struct{ Cause string }

func (step ReplaceCA) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRotatingCertificates,
		Message: "The operator is creating a new certificate authority, because " + step.Cause + ".",
		Requeue: state.RequeueSoon,
	}, "ReplacingAuthority", cluster)
}

// RequestCertificates makes the Certificates of cert-manager.
type RequestCertificates struct{}

func (RequestCertificates) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonIssuingCertificates,
		Message: "The operator is requesting certificates from cert-manager.",
		Requeue: state.RequeueStarting,
	}
}

// WriteCertificates writes the three Secrets: what is missing or due, and all certificate authorities that sign. With
// Switch the newest one signs all certificates. With Drop only those that sign are kept.
type WriteCertificates struct {
	Switch, Drop bool
	Cause        string
}

func (step WriteCertificates) describe(state.State) planning.Description {
	d := planning.Description{
		Reason:  v1beta2.ReasonIssuingCertificates,
		Message: "The operator is writing the certificates of members and clients: " + step.Cause + ".",
		Requeue: state.RequeueSoon,
	}
	if step.Switch || step.Drop {
		d.Reason = v1beta2.ReasonRotatingCertificates
	}
	return announced(d, "WritingCertificates", cluster)
}

// LoadCertificates marks a Pod, so that its kubelet reads its Secrets.
type LoadCertificates struct{ Name, Loaded string }

func (step LoadCertificates) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonRotatingCertificates,
		Message: "Member " + step.Name + " is loading its certificates.",
		Requeue: state.RequeueSoon,
	}
}

// RemovePreviousCA removes the previous certificate authority, which no process trusts any more.
type RemovePreviousCA struct{}

func (RemovePreviousCA) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRotatingCertificates,
		Message: "The operator is removing the previous certificate authority, which no member trusts any more.",
		Requeue: state.RequeueSoon,
	}, "ForgettingAuthority", cluster)
}

// HandOutCA writes the keys of the Secret with the certificate authority from which others sign certificates of clients.
type HandOutCA struct{ Cause string }

func (step HandOutCA) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonIssuingCertificates,
		Message: "The operator is writing tls.crt and tls.key of the certificate authority's Secret: " + step.Cause + ".",
		Requeue: state.RequeueSoon,
	}, "HandingOutAuthority", cluster)
}

// WriteUserCertificates writes the Secrets of users whose certificates are missing or due. What names the first. With Switch they also get those of a CA that
// all members trust by now.
type WriteUserCertificates struct {
	What   string
	Switch bool
}

func (step WriteUserCertificates) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonIssuingCertificates,
		Message: "The operator is writing the certificate of " + step.What + ".",
		Requeue: state.RequeueSoon,
	}, "WritingCertificates", cluster)
}

// AnnounceUserCertificates records in the status for which users a Certificate of cert-manager is requested, before it is. So one of a user that has left the
// spec is deleted.
type AnnounceUserCertificates struct{ Users int }

func (step AnnounceUserCertificates) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonIssuingCertificates,
		Message: fmt.Sprintf("The operator is about to request the certificates of %d users from cert-manager.", step.Users),
		Requeue: state.RequeueSoon,
	}
}

// RequestUserCertificates makes the Certificates of users. What names the first.
type RequestUserCertificates struct{ What string }

func (step RequestUserCertificates) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonIssuingCertificates,
		Message: "The operator is requesting the certificate of " + step.What + " from cert-manager.",
		Requeue: state.RequeueSoon,
	}
}

// WithdrawUserCertificates deletes the Certificates of users that left the spec. What names the first.
type WithdrawUserCertificates struct{ What string }

func (step WithdrawUserCertificates) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonIssuingCertificates,
		Message: "The operator is deleting the Certificate of " + step.What + ", because spec.auth asks for none any more.",
		Requeue: state.RequeueSoon,
	}
}
