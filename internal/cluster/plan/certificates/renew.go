package certificates

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
)

// The rules of the group "protection" run before every rule that waits, so that no pause, hibernation or outage keeps the
// operator from protecting data. Each must be safe in every state: it stops no member, and needs no answer of etcd.

// RenewCertificates replaces certificates that run out, also while the cluster is paused or hibernates: members and clients
// with expired certificates do not reach each other. If a new CA is due, the present one signs as long as it is valid: issueCertificates,
// which creates the new one, does not run in every state. It also writes a Secret again that somebody deleted: without it, no Pod that mounts it
// starts, and the operator does not reach the members. What cert-manager has issued is of use even if a Certificate differs from the spec: the
// operator corrects none in these states, and the API server may refuse the correction. All else about certificates is left to issueCertificates.
func RenewCertificates(s state.State) steps.Step {
	c := s.Certificates
	deleted := c.Missing && s.Formed()
	switch {
	case c.Due == "" || !s.Spec.TLS.Issued() || c.Foreign != "" || c.Missing != deleted || c.CA.Broken != "" || c.CA.Invalid:
		return nil
	case s.Spec.TLS.Managed != nil && !c.CA.Exists:
		return nil
	case waits.ForeignMembers(s) != nil || RefuseTLSChange(s) != nil:
		return nil
	}
	if write := (steps.WriteCertificates{Cause: c.Due}); !awaitsClocks(s, write) {
		return write
	}
	return nil // reportClock
}

// LoadCertificates makes the kubelet write changed certificates into a Pod at once. The kubelet reads a Pod's Secrets when
// the Pod changes, and otherwise about once a minute. A certificate that members refuse is not loaded early: each minute may be the one in
// which a person corrects it.
func LoadCertificates(s state.State) steps.Step {
	if slices.ContainsFunc(s.Members, func(m state.Member) bool { return state.RefusesPeers(s, m) }) {
		return nil
	}
	for _, m := range s.Members {
		load := steps.LoadCertificates{Name: m.Name, Loaded: s.Certificates.Loaded}
		if m.Pod == state.PodRunning && s.Certificates.Loaded != "" && m.Loaded != s.Certificates.Loaded && waits.May(s, load) {
			return load
		}
	}
	return nil
}
