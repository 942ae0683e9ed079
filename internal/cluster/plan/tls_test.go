package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

func TestPlanCertificates(t *testing.T) {
	planTests{
		"leaves a managed cluster alone that is as it should be": {state(formed, members(3), managed), Done{}},
		"makes the authority before anything else": {
			state(managed, certs(func(c *Certificates) { *c = Certificates{Missing: true} })), CreateCA{},
		},
		"makes the certificates next": {
			state(managed, certs(func(c *Certificates) { c.Missing, c.Due = true, "x" })), WriteCertificates{Cause: "none exist yet"},
		},
		"touches no Secret of somebody else's": {
			state(managed, certs(func(c *Certificates) { c.Missing, c.Foreign = true, "Secret x is there" })),
			Wait{Reason: v1beta2.ReasonNotOurs, Message: "Secret x is there", Stalled: true},
		},
		"renews a certificate though quorum is lost: it may be why": {
			state(formed, members(3), managed, noQuorum, certs(func(c *Certificates) { c.Due = "it ran out" })), WriteCertificates{Cause: "it ran out"},
		},
		"has members load a renewed certificate at once": {
			state(formed, members(3), managed, certs(func(c *Certificates) { c.Loaded = "new" })), LoadCertificates{Name: nameOf(0), Loaded: "new"},
		},
		"replaces an authority before it ends": {
			state(formed, members(3), managed, certs(func(c *Certificates) { c.CA.ReplaceCause = "of age" })), ReplaceCA{Cause: "of age"},
		},
		"continues with the members when the authority's Secret is damaged, and says so": {
			state(formed, members(3), managed, with(1, withoutPod), certs(func(c *Certificates) { c.CA.Broken = "Secret x" })),
			CreateMember{Name: nameOf(1), Incarnation: 1, Start: StartRejoin},
		},
		"says at last that the authority's Secret is spoilt": {
			state(formed, members(3), managed, certs(func(c *Certificates) { c.CA.Broken = "Secret x" })),
			Wait{Reason: v1beta2.ReasonSecretMissing, Message: "Secret x", Stalled: true},
		},
		"makes no certificates with an authority that is spoilt": {
			state(managed, certs(func(c *Certificates) { c.Missing, c.CA.Broken = true, "Secret x" })),
			Wait{Reason: v1beta2.ReasonSecretMissing, Message: "Secret x", Stalled: true},
		},
	}.run(t)
}

func TestPlanCertManager(t *testing.T) {
	unissued := func(why string) change {
		return certs(func(c *Certificates) { c.Unissued, c.UnissuedReason = "words", why })
	}
	missing := certs(func(c *Certificates) { c.Missing = true })
	planTests{
		"leaves a cluster alone that is as it should be": {state(formed, members(3), fromCertManager), Done{}},
		"asks for certificates": {
			state(fromCertManager, missing, certs(func(c *Certificates) { c.Requested = false })), RequestCertificates{},
		},
		"asks anew when the issuer was corrected, though the old one was not ready": {
			state(fromCertManager, missing, unissued(v1beta2.ReasonCertificateNotReady), certs(func(c *Certificates) { c.Requested = false })), RequestCertificates{},
		},
		"says that cert-manager is not there, which a person must mend": {
			state(fromCertManager, missing, unissued(v1beta2.ReasonCertManagerMissing), certs(func(c *Certificates) { c.Requested = false })),
			Wait{Reason: v1beta2.ReasonCertManagerMissing, Message: "words", Stalled: true},
		},
		"waits for the first certificates": {
			state(fromCertManager, missing, unissued(v1beta2.ReasonCertificateNotReady)), Wait{Reason: v1beta2.ReasonCertificateNotReady, Message: "words"},
		},
		"heals a member while cert-manager is away": {
			state(formed, members(3), fromCertManager, with(1, withoutPod), unissued(v1beta2.ReasonCertManagerMissing)),
			CreateMember{Name: nameOf(1), Incarnation: 1, Start: StartRejoin},
		},
		"says at last that a certificate was not renewed": {
			state(formed, members(3), fromCertManager, unissued(v1beta2.ReasonCertificateNotReady)),
			Wait{Reason: v1beta2.ReasonCertificateNotReady, Message: "words"},
		},
	}.run(t)
}

func TestPlanTrust(t *testing.T) {
	trust := certs(func(c *Certificates) { c.Trust = "both" })
	trusts := func(m *Member) { m.Trust = "both" }
	message := "it must trust the CA that its Secrets hold now"
	planTests{
		"restarts one member that does not trust a new authority, and not the leader": {
			state(formed, members(3), managed, trust), DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonRotatingCertificates, Message: message},
		},
		"restarts members of static TLS, too": {
			state(formed, members(3), withTLS, trust, with(1, trusts)), DeletePod{Name: nameOf(2), Reason: v1beta2.ReasonRotatingCertificates, Message: message},
		},
		"moves leadership before the last one": {
			state(formed, members(3), managed, trust, with(1, trusts), with(2, trusts)), MoveLeader{From: nameOf(0), To: 2, Name: nameOf(1)},
		},
		"restarts nobody while a member is down": {
			state(formed, members(3), managed, trust, with(1, trusts, pod(PodStarting))), Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(1) + " is starting."},
		},
		"restarts members that cannot understand each other any more": {
			state(formed, members(3), withTLS, noQuorum, trust, everyoneUnready(6*time.Minute), with(0, trusts, unreadyFor(time.Second))),
			DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonRotatingCertificates, Message: "no quorum answers, and it must trust the CA that its Secrets hold now"},
		},
		"restarts nobody because no quorum answers for a moment": {
			state(formed, members(3), managed, noQuorum, trust, with(0, trusts)),
			Wait{Reason: v1beta2.ReasonMemberDown, Message: "No quorum answers. Members that hold data are running or starting: " + nameOf(0) + ", " + nameOf(1) + ", " + nameOf(2) + "."},
		},
		"restarts nobody while another member is stopping": {
			state(formed, members(3), managed, noQuorum, trust, everyoneUnready(6*time.Minute), with(0, pod(PodDeleting))),
			Wait{Reason: v1beta2.ReasonMemberDown, Message: "No quorum answers. Members that hold data are running or starting: " + nameOf(0) + ", " + nameOf(1) + ", " + nameOf(2) + "."},
		},
		"changes nothing when TLS is taken from a running cluster": {
			state(formed, members(3), managed, func(s *State) { s.Spec.TLS = nil }), tlsRefusal("between members is off in the spec and on"),
		},
		"says at once that members which run cannot form with another kind of TLS": {
			state(initial(3), begun, managed, with(0, startedPlain), with(1, startedPlain), with(2, startedPlain)), tlsRefusalOf("between members is on in the spec and off", "delete the EtcdCluster and create it again: it has served no client yet"),
		},
		"makes a Pod again that never ran without TLS": {
			state(initial(1), begun, managed, with(0, startedPlain, blockedBy(v1beta2.ReasonPodUnschedulable), outdated)),
			DeletePod{Name: nameOf(0), Reason: v1beta2.ReasonSettling, Message: "spec.pod or spec.TLS has changed"},
		},
		"lets members without TLS give way to the restore that is to have it": {
			state(initial(3), begun, managed, with(0, startedPlain), func(s *State) { s.RestorePending = "back" }),
			Wait{Reason: v1beta2.ReasonWaitingForRestore, Message: "The cluster starts from EtcdRestore back and serves no client until then. To start it empty, delete that EtcdRestore."},
		},
		"changes nothing when a running cluster is to get TLS": {
			state(formed, members(3), managed, with(0, func(m *Member) { m.SecurePeer, m.SecureClient = false, false })), tlsRefusal("between members is on in the spec and off"),
		},
	}.run(t)
}

func everyoneUnready(d time.Duration) change {
	return func(s *State) {
		for i := range s.Members {
			unreadyFor(d)(&s.Members[i])
		}
	}
}

// startedPlain is a member whose Pod was made without TLS.
func startedPlain(m *Member) {
	onVolume(m)
	m.Start, m.SecurePeer, m.SecureClient = StartNew, false, false
}

func tlsRefusal(what string) Wait {
	return tlsRefusalOf(what, "save a snapshot and restore it into a new EtcdCluster")
}

func tlsRefusalOf(what, wayOut string) Wait {
	return Wait{
		Reason:  v1beta2.ReasonTLSChangeNotSupported,
		Message: "TLS " + what + " in member " + nameOf(0) + ". A running cluster cannot change it. The operator changes nothing until you set spec.TLS back. To change it, " + wayOut + ".",
		Stalled: true,
	}
}

func TestPlanRotate(t *testing.T) {
	set := func(f func(*Certificates)) change { return certs(f) }
	outdated := set(func(c *Certificates) {
		c.Outdated, c.SwitchAfter, c.Superseded = true, noon, false
		c.CA.Previous = true
	})
	superseded := set(func(c *Certificates) {
		c.Superseded, c.DropAfter = true, noon
		c.CA.Previous = true
	})
	everyone := func(s *State) {
		for i := range s.Members {
			s.Members[i].ShowsNew = true
		}
	}
	planTests{
		"signs by the new authority once every member trusts it": {
			state(formed, members(3), managed, outdated), WriteCertificates{Switch: true, Cause: "all members trust the new CA"},
		},
		"not before every member does": {
			state(formed, members(3), managed, outdated, with(1, func(m *Member) { m.Trust = "old" })),
			DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonRotatingCertificates, Message: "it must trust the CA that its Secrets hold now"},
		},
		"not while a member is down": {
			state(formed, members(3), managed, outdated, with(1, pod(PodStarting))), Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(1) + " is starting."},
		},
		"leaves clients their time to load the new authority": {
			state(formed, members(3), managed, outdated, set(func(c *Certificates) { c.SwitchAfter = noon.Add(time.Second) })), Done{},
		},
		"drops the old authority when no member shows a certificate of it": {
			state(formed, members(3), managed, superseded, everyone), WriteCertificates{Drop: true, Cause: "no certificate of the old CA is in use"},
		},
		"not while a member does": {
			state(formed, members(3), managed, superseded, everyone, with(2, func(m *Member) { m.ShowsNew = false })),
			Wait{Reason: v1beta2.ReasonRotatingCertificates, Message: "Member " + nameOf(2) + " has not loaded its new certificates yet. The kubelet writes them within two minutes."},
		},
		"leaves clients their time to load new certificates": {
			state(formed, members(3), managed, superseded, everyone, set(func(c *Certificates) { c.DropAfter = noon.Add(time.Second) })), Done{},
		},
		"forgets the old authority at the end": {
			state(formed, members(3), managed, set(func(c *Certificates) { c.CA.Previous = true })), RemovePreviousCA{},
		},
	}.run(t)
}
