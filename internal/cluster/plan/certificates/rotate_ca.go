package certificates

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// RotateCA continues the replacement of a CA when all members have restarted and trust what their Secrets hold.
func RotateCA(s state.State) steps.Step {
	c := s.Certificates
	if !s.Spec.TLS.Issued() || !s.Formed() || !s.MembershipKnown || c.CA.Broken != "" || awaitsClocks(s, steps.WriteCertificates{}) {
		return nil
	}
	switch {
	case c.Outdated && (s.Now.Before(c.SwitchAfter) || seedTrustsOldCA(s)):
		return nil
	case c.Outdated:
		return steps.WriteCertificates{Switch: true, Cause: "all members trust the new CA"}
	case c.Superseded && c.CA.Incomplete != "":
		return nil // HandOutCA failed: others still sign with the old CA
	case c.Superseded && s.Spec.TLS.CertManager != nil && len(s.UserCertificates.Unread) > 0:
		return nil // a user may have a certificate of the old CA
	case c.Superseded:
		return dropOld(s)
	case c.CA.Previous:
		return steps.RemovePreviousCA{}
	}
	return nil
}

// HandOutCA gives the Secret of the CA the keys from which others sign clients. It stands before RotateCA, so that they sign with the new CA before
// members trust it alone.
func HandOutCA(s state.State) steps.Step {
	c := s.Certificates
	if s.Spec.TLS == nil || s.Spec.TLS.Managed == nil || c.Foreign != "" || c.CA.Broken != "" || c.CA.Incomplete == "" {
		return nil
	}
	return steps.HandOutCA{Cause: c.CA.Incomplete}
}

// dropOld removes the old CA when no member serves a certificate of it any more.
func dropOld(s state.State) steps.Step {
	for _, m := range s.Members {
		if m.Pod == state.PodRunning && !m.ShowsNew {
			return steps.Wait{Reason: v1beta2.ReasonRotatingCertificates, Message: "Member " + m.Name + " has not loaded its new certificates yet. The kubelet writes them within two minutes."}
		}
	}
	if s.Now.Before(s.Certificates.DropAfter) {
		return nil
	}
	return steps.WriteCertificates{Drop: true, Cause: "no certificate of the old CA is in use"}
}

// seedTrustsOldCA reports whether the Pod of a seed, which rollMembers never restarts, would refuse a certificate of the new CA.
func seedTrustsOldCA(s state.State) bool {
	return slices.ContainsFunc(s.Members, func(m state.Member) bool {
		return m.Incarnation > s.Incarnation && (m.Pod == state.PodRunning || m.Pod == state.PodStarting) && state.TrustsOldCA(s, m)
	})
}
