package plan

import "github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"

// The rules of the group "protection" run before every rule that waits, so that no pause, hibernation or outage keeps the
// operator from protecting data. Each must be safe in every state: it stops no member, and needs no answer of etcd.

// renewCertificates replaces certificates that run out, also while the cluster is paused or hibernates: members and clients
// with expired certificates do not reach each other. If a new CA is due, the present one signs as long as it is valid: issueCertificates,
// which creates the new one, does not run in every state. It also writes a Secret again that somebody deleted: without it, no Pod that mounts it
// starts, and the operator does not reach the members. What cert-manager has issued is of use even if a Certificate differs from the spec: the
// operator corrects none in these states, and the API server may refuse the correction. All else about certificates is left to issueCertificates.
func renewCertificates(s state.State) Step {
	c := s.Certificates
	deleted := c.Missing && s.Formed()
	switch {
	case c.Due == "" || !s.Spec.TLS.Issued() || c.Foreign != "" || c.Missing != deleted || c.CA.Broken != "" || c.CA.Invalid:
		return nil
	case s.Spec.TLS.Managed != nil && !c.CA.Exists:
		return nil
	case foreignMembers(s) != nil || refuseTLSChange(s) != nil:
		return nil
	}
	if write := (WriteCertificates{Cause: c.Due}); !awaitsClocks(s, write) {
		return write
	}
	return nil // reportClock
}
