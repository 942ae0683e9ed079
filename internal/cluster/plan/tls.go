package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// A CA is replaced in steps. Each step is recognised by the content of the Secrets. At no time does a member or a client
// receive a certificate that it does not trust:
//
//	1 certificates  the new CA is added to the old one in every Secret
//	2 roll          each member restarts, and trusts both
//	3 rotate        certificates are signed by the new CA; etcd loads them without a restart
//	4 rotate        the old CA is removed from every Secret, once each member was seen to serve a new certificate
//	5 roll          each member restarts, and trusts the new one only

// issueCertificates issues and renews certificates and writes them to the members' Secrets. It does not wait for a healthy
// cluster: expired certificates may be the cause.
func issueCertificates(s state.State) Step { return untilClocksAgree(s, issue(s)) }

func issue(s state.State) Step {
	c := s.Certificates
	if !s.Spec.TLS.Issued() {
		return nil
	}
	managed := s.Spec.TLS.Managed != nil
	switch {
	case c.Foreign != "":
		return Wait{Reason: v1beta2.ReasonNotOurs, Message: c.Foreign, Stalled: true}
	case c.CA.Broken != "" && c.Missing:
		return Wait{Reason: v1beta2.ReasonSecretMissing, Message: c.CA.Broken, Stalled: true}
	case c.CA.Broken != "":
		return nil // what was handed out is good for a while
	case managed && !c.CA.Exists:
		return CreateCA{}
	case managed && c.CA.ReplaceCause != "":
		return ReplaceCA{Cause: c.CA.ReplaceCause}
	case !managed && !c.Requested && c.UnissuedReason != v1beta2.ReasonCertManagerMissing && c.IssuerRefused == "":
		return RequestCertificates{}
	case c.Missing:
		return issueFirst(c)
	case c.Due != "":
		return WriteCertificates{Cause: c.Due}
	case refuseInUse(s):
		return WriteCertificates{Switch: true, Cause: "no member accepts those in use, and all trust the CA that signs now"}
	case c.Unknown:
		return WriteCertificates{Cause: "members and clients must trust a new CA in addition to the old one"}
	}
	return nil
}

// issueFirst writes the first certificates of a cluster, or waits for what they need.
func issueFirst(c state.Certificates) Step {
	switch {
	case !c.Lacking && c.Unissued == "":
		return WriteCertificates{Cause: "none exist yet"}
	case !c.Requested && c.IssuerRefused != "":
		return Wait{Reason: v1beta2.ReasonIssuerNotAllowed, Message: c.IssuerRefused, Stalled: true}
	case c.Unissued != "":
		return Wait{Reason: c.UnissuedReason, Message: c.Unissued, Stalled: c.UnissuedReason == v1beta2.ReasonCertManagerMissing}
	}
	return WriteCertificates{Cause: "none exist yet"}
}

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

// refuseTLSChange refuses to turn TLS on or off. Members with TLS cannot connect to members without it, and all clients
// would have to change at the same time. Before a cluster forms, the same holds for the members that already run.
func refuseTLSChange(s state.State) Step {
	members, wayOut := s.Current(), "save a snapshot and restore it into a new EtcdCluster"
	if !s.Formed() {
		if s.Request != nil || s.RestorePending != "" || s.Restoring() {
			return nil // they give way to the seed
		}
		members, wayOut = state.Initial(s), "delete the EtcdCluster and create it again: it has served no client yet"
	}
	for _, m := range members {
		if m.Pod == state.PodNone || m.Pod == state.PodDeleting || (!s.Formed() && m.Pod != state.PodRunning) {
			continue
		}
		if changed := tlsDiffers(s, m); changed != "" {
			return Wait{
				Reason: v1beta2.ReasonTLSChangeNotSupported,
				Message: "TLS " + changed + " in member " + m.Name + ". A running cluster cannot change it. " +
					"The operator changes nothing until you set spec.TLS back. To change it, " + wayOut + ".",
				Stalled: true,
			}
		}
	}
	return nil
}

// tlsDiffers says how a member's TLS differs from the spec. It is empty if it does not.
func tlsDiffers(s state.State, m state.Member) string {
	for _, is := range []struct {
		who     string
		is, was bool
	}{{"between members", s.Spec.TLS.SecurePeer(), m.SecurePeer}, {"for clients", s.Spec.TLS.SecureClient(), m.SecureClient}} {
		if is.is != is.was {
			return fmt.Sprintf("%s is %s in the spec and %s", is.who, onOff(is.is), onOff(is.was))
		}
	}
	return ""
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// loadCertificates makes the kubelet write changed certificates into a Pod at once. The kubelet reads a Pod's Secrets when
// the Pod changes, and otherwise about once a minute. A certificate that members refuse is not loaded early: each minute may be the one in
// which a person corrects it.
func loadCertificates(s state.State) Step {
	if slices.ContainsFunc(s.Members, func(m state.Member) bool { return state.RefusesPeers(s, m) }) {
		return nil
	}
	for _, m := range s.Members {
		load := LoadCertificates{Name: m.Name, Loaded: s.Certificates.Loaded}
		if m.Pod == state.PodRunning && s.Certificates.Loaded != "" && m.Loaded != s.Certificates.Loaded && may(s, load) {
			return load
		}
	}
	return nil
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

// seedTrustsOldCA reports whether the Pod of a seed, which rollMembers never restarts, would refuse a certificate of the new CA.
func seedTrustsOldCA(s state.State) bool {
	return slices.ContainsFunc(s.Members, func(m state.Member) bool {
		return m.Incarnation > s.Incarnation && (m.Pod == state.PodRunning || m.Pod == state.PodStarting) && state.TrustsOldCA(s, m)
	})
}

// rotateCA continues the replacement of a CA when all members have restarted and trust what their Secrets hold.
func rotateCA(s state.State) Step {
	c := s.Certificates
	if !s.Spec.TLS.Issued() || !s.Formed() || !s.MembershipKnown || c.CA.Broken != "" || awaitsClocks(s, WriteCertificates{}) {
		return nil
	}
	switch {
	case c.Outdated && (s.Now.Before(c.SwitchAfter) || seedTrustsOldCA(s)):
		return nil
	case c.Outdated:
		return WriteCertificates{Switch: true, Cause: "all members trust the new CA"}
	case c.Superseded:
		return dropOld(s)
	case c.CA.Previous:
		return RemovePreviousCA{}
	}
	return nil
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

// dropOld removes the old CA when no member serves a certificate of it any more.
func dropOld(s state.State) Step {
	for _, m := range s.Members {
		if m.Pod == state.PodRunning && !m.ShowsNew {
			return Wait{Reason: v1beta2.ReasonRotatingCertificates, Message: "Member " + m.Name + " has not loaded its new certificates yet. The kubelet writes them within two minutes."}
		}
	}
	if s.Now.Before(s.Certificates.DropAfter) {
		return nil
	}
	return WriteCertificates{Drop: true, Cause: "no certificate of the old CA is in use"}
}

// unissuedCertificates reports on a healthy cluster why certificates cannot be issued or renewed.
func unissuedCertificates(s state.State) Step {
	c := s.Certificates
	switch {
	case !s.Spec.TLS.Issued():
		return nil
	case c.CA.Broken != "":
		return Wait{Reason: v1beta2.ReasonSecretMissing, Message: c.CA.Broken, Stalled: true}
	case c.Unissued != "" && c.IssuerRefused != "" && !c.Requested:
		return Wait{Reason: v1beta2.ReasonIssuerNotAllowed, Message: c.IssuerRefused + " " + c.Unissued + c.UntilExpiry(), Stalled: true}
	case c.Unissued != "":
		return Wait{Reason: c.UnissuedReason, Message: strings.TrimSpace(c.Unissued + " " + c.IssuerRefused)}
	case c.Taken != "":
		return Wait{
			Reason: v1beta2.ReasonNotOurs, Stalled: true,
			Message: TakenByAnother(c.Taken) + " Until then the operators use the certificate of clients. If etcd's authentication is on, its user needs the role root.",
		}
	}
	return nil
}
