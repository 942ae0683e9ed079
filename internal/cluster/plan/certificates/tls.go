package certificates

import (
	"fmt"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// A CA is replaced in steps. Each step is recognised by the content of the Secrets. At no time does a member or a client
// receive a certificate that it does not trust:
//
//	1 certificates  the new CA is added to the old one in every Secret
//	2 roll          each member restarts, and trusts both
//	3 rotate        certificates are signed by the new CA; etcd loads them without a restart
//	4 rotate        the old CA is removed from every Secret, once each member was seen to serve a new certificate
//	5 roll          each member restarts, and trusts the new one only

// IssueCertificates issues and renews certificates and writes them to the members' Secrets. It does not wait for a healthy
// cluster: expired certificates may be the cause.
func IssueCertificates(s state.State) steps.Step { return untilClocksAgree(s, issue(s)) }

func issue(s state.State) steps.Step {
	c := s.Certificates
	if !s.Spec.TLS.Issued() {
		return nil
	}
	managed := s.Spec.TLS.Managed != nil
	switch {
	case c.Foreign != "":
		return steps.Wait{Reason: v1beta2.ReasonNotOurs, Message: c.Foreign, Stalled: true}
	case c.CA.Broken != "" && c.Missing:
		return steps.Wait{Reason: v1beta2.ReasonSecretMissing, Message: c.CA.Broken, Stalled: true}
	case c.CA.Broken != "":
		return nil // what was handed out is good for a while
	case managed && !c.CA.Exists:
		return steps.CreateCA{}
	case managed && c.CA.ReplaceCause != "":
		return steps.ReplaceCA{Cause: c.CA.ReplaceCause}
	case !managed && !c.Requested && c.UnissuedReason != v1beta2.ReasonCertManagerMissing && c.IssuerRefused == "":
		return steps.RequestCertificates{}
	case c.Missing:
		return issueFirst(c)
	case c.Due != "":
		return steps.WriteCertificates{Cause: c.Due}
	case refuseInUse(s):
		return steps.WriteCertificates{Switch: true, Cause: "no member accepts those in use, and all trust the CA that signs now"}
	case c.Unknown:
		return steps.WriteCertificates{Cause: "members and clients must trust a new CA in addition to the old one"}
	}
	return nil
}

// issueFirst writes the first certificates of a cluster, or waits for what they need.
func issueFirst(c state.Certificates) steps.Step {
	switch {
	case !c.Lacking && c.Unissued == "":
		return steps.WriteCertificates{Cause: "none exist yet"}
	case !c.Requested && c.IssuerRefused != "":
		return steps.Wait{Reason: v1beta2.ReasonIssuerNotAllowed, Message: c.IssuerRefused, Stalled: true}
	case c.Unissued != "":
		return steps.Wait{Reason: c.UnissuedReason, Message: c.Unissued, Stalled: c.UnissuedReason == v1beta2.ReasonCertManagerMissing}
	}
	return steps.WriteCertificates{Cause: "none exist yet"}
}

// RefuseTLSChange refuses to turn TLS on or off. Members with TLS cannot connect to members without it, and all clients
// would have to change at the same time. Before a cluster forms, the same holds for the members that already run.
func RefuseTLSChange(s state.State) steps.Step {
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
			return steps.Wait{
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

// UnissuedCertificates reports on a healthy cluster why certificates cannot be issued or renewed.
func UnissuedCertificates(s state.State) steps.Step {
	c := s.Certificates
	switch {
	case !s.Spec.TLS.Issued():
		return nil
	case c.CA.Broken != "":
		return steps.Wait{Reason: v1beta2.ReasonSecretMissing, Message: c.CA.Broken, Stalled: true}
	case c.Unissued != "" && c.IssuerRefused != "" && !c.Requested:
		return steps.Wait{Reason: v1beta2.ReasonIssuerNotAllowed, Message: c.IssuerRefused + " " + c.Unissued + c.UntilExpiry(), Stalled: true}
	case c.Unissued != "":
		return steps.Wait{Reason: c.UnissuedReason, Message: strings.TrimSpace(c.Unissued + " " + c.IssuerRefused)}
	case c.Taken != "":
		return steps.Wait{
			Reason: v1beta2.ReasonNotOurs, Stalled: true,
			Message: TakenByAnother(c.Taken) + usedInstead(c),
		}
	}
	return nil
}

// usedInstead says which certificate the operators use while they get none of their own.
func usedInstead(c state.Certificates) string {
	const ofClients = "the certificate of clients. If etcd's authentication is on, its user needs the role root."
	if c.Operator {
		return " Until then the operators use the certificate that they have until it expires, and then " + ofClients
	}
	return " Until then the operators use " + ofClients
}

// TakenByAnother is the message about an object with a name that the cluster needs.
func TakenByAnother(object string) string {
	return object + " exists, but this EtcdCluster does not own it. The operator does not change it. Delete or rename it."
}

// OperatorSecret is the Secret with which the operators connect to members.
func OperatorSecret(s state.State) string {
	if s.Spec.TLS.Issued() && !s.Certificates.Operator {
		return ""
	}
	return s.Spec.TLS.OperatorSecret(s.Name)
}
