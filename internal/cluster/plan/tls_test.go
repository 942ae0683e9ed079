package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

func TestPlanCertificates(t *testing.T) {
	planTests{
		"changes nothing if a managed cluster is as its spec asks": {stateWith(formed, members(3), managed), steps.Done{}},
		"creates the CA before anything else": {
			stateWith(managed, certs(func(c *state.Certificates) { *c = state.Certificates{Missing: true} })), steps.CreateCA{},
		},
		"creates the certificates after the CA": {
			stateWith(managed, certs(func(c *state.Certificates) { c.Missing, c.Due = true, "x" })), steps.WriteCertificates{Cause: "none exist yet"},
		},
		"does not overwrite a Secret of another owner": {
			stateWith(managed, certs(func(c *state.Certificates) { c.Missing, c.Foreign = true, "Secret x is there" })),
			steps.Wait{Reason: v1beta2.ReasonNotOurs, Message: "Secret x is there", Stalled: true},
		},
		"renews a certificate if quorum is lost: it may be the cause": {
			stateWith(formed, members(3), managed, noQuorum, certs(func(c *state.Certificates) { c.Due = "it ran out" })), steps.WriteCertificates{Cause: "it ran out"},
		},
		"lets members load a renewed certificate at once": {
			stateWith(formed, members(3), managed, certs(func(c *state.Certificates) { c.Loaded = "new" })), steps.LoadCertificates{Name: nameOf(0), Loaded: "new"},
		},
		"replaces a CA before it expires": {
			stateWith(formed, members(3), managed, certs(func(c *state.Certificates) { c.CA.ReplaceCause = "of age" })), steps.ReplaceCA{Cause: "of age"},
		},
		"recreates a member while the Secret of the CA is damaged": {
			stateWith(formed, members(3), managed, with(1, withoutPod), certs(func(c *state.Certificates) { c.CA.Broken = "Secret x" })),
			steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin},
		},
		"reports that the Secret of the CA is damaged if nothing else is to do": {
			stateWith(formed, members(3), managed, certs(func(c *state.Certificates) { c.CA.Broken = "Secret x" })),
			steps.Wait{Reason: v1beta2.ReasonSecretMissing, Message: "Secret x", Stalled: true},
		},
		"creates no certificates while the Secret of the CA is damaged": {
			stateWith(managed, certs(func(c *state.Certificates) { c.Missing, c.CA.Broken = true, "Secret x" })),
			steps.Wait{Reason: v1beta2.ReasonSecretMissing, Message: "Secret x", Stalled: true},
		},
	}.run(t)
}

func TestPlanCertManager(t *testing.T) {
	unissued := func(why string) change {
		return certs(func(c *state.Certificates) { c.Unissued, c.UnissuedReason = "words", why })
	}
	missing := certs(func(c *state.Certificates) { c.Missing = true })
	planTests{
		"changes nothing if a cluster with cert-manager is as its spec asks": {stateWith(formed, members(3), fromCertManager), steps.Done{}},
		"requests certificates": {
			stateWith(fromCertManager, missing, certs(func(c *state.Certificates) { c.Requested = false })), steps.RequestCertificates{},
		},
		"requests certificates again if the issuer was corrected": {
			stateWith(fromCertManager, missing, unissued(v1beta2.ReasonCertificateNotReady), certs(func(c *state.Certificates) { c.Requested = false })), steps.RequestCertificates{},
		},
		"reports that cert-manager is missing": {
			stateWith(fromCertManager, missing, unissued(v1beta2.ReasonCertManagerMissing), certs(func(c *state.Certificates) { c.Requested = false })),
			steps.Wait{Reason: v1beta2.ReasonCertManagerMissing, Message: "words", Stalled: true},
		},
		"waits for the first certificates": {
			stateWith(fromCertManager, missing, unissued(v1beta2.ReasonCertificateNotReady)), steps.Wait{Reason: v1beta2.ReasonCertificateNotReady, Message: "words"},
		},
		"recreates a member while cert-manager is missing": {
			stateWith(formed, members(3), fromCertManager, with(1, withoutPod), unissued(v1beta2.ReasonCertManagerMissing)),
			steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin},
		},
		"reports that a certificate was not renewed if nothing else is to do": {
			stateWith(formed, members(3), fromCertManager, unissued(v1beta2.ReasonCertificateNotReady)),
			steps.Wait{Reason: v1beta2.ReasonCertificateNotReady, Message: "words"},
		},
	}.run(t)
}

func TestPlanTrust(t *testing.T) {
	trust := certs(func(c *state.Certificates) { c.Trust = "both" })
	trusts := func(m *state.Member) { m.Trust = "both" }
	message := "it must trust the CA that its Secrets hold now"
	planTests{
		"restarts a follower that does not trust the new CA before the leader": {
			stateWith(formed, members(3), managed, trust), steps.DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonRotatingCertificates, Message: message},
		},
		"restarts a member with static TLS for a new CA": {
			stateWith(formed, members(3), withTLS, trust, with(1, trusts)), steps.DeletePod{Name: nameOf(2), Reason: v1beta2.ReasonRotatingCertificates, Message: message},
		},
		"moves leadership before it restarts the leader for a new CA": {
			stateWith(formed, members(3), managed, trust, with(1, trusts), with(2, trusts)), steps.MoveLeader{From: nameOf(0), To: 2, Name: nameOf(1)},
		},
		"restarts no member while another one is starting": {
			stateWith(formed, members(3), managed, trust, with(1, trusts, pod(state.PodStarting))), steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(1) + " is starting."},
		},
		"restarts a member without the new CA if no quorum answers and it was unready for 6 min": {
			stateWith(formed, members(3), withTLS, noQuorum, trust, everyoneUnready(6*time.Minute), with(0, trusts, unreadyFor(time.Second))),
			steps.DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonRotatingCertificates, Message: "no quorum answers, and it must trust the CA that its Secrets hold now"},
		},
		"restarts no member for the new CA if no quorum answers for 1 s": {
			stateWith(formed, members(3), managed, noQuorum, trust, with(0, trusts)),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "No quorum answers. Members that hold data are running or starting: " + nameOf(0) + ", " + nameOf(1) + ", " + nameOf(2) + "."},
		},
		"restarts no member for the new CA while another one is stopping": {
			stateWith(formed, members(3), managed, noQuorum, trust, everyoneUnready(6*time.Minute), with(0, pod(state.PodDeleting))),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "No quorum answers. Members that hold data are running or starting: " + nameOf(0) + ", " + nameOf(1) + ", " + nameOf(2) + "."},
		},
		"changes nothing if TLS is removed from the spec of a running cluster": {
			stateWith(formed, members(3), managed, func(s *state.State) { s.Spec.TLS = nil }), tlsRefusal("between members is off in the spec and on"),
		},
		"reports at once that initial members without TLS cannot form if the spec has TLS": {
			stateWith(initial(3), begun, managed, with(0, startedPlain), with(1, startedPlain), with(2, startedPlain)), tlsRefusalOf("between members is on in the spec and off", "delete the EtcdCluster and create it again: it has served no client yet"),
		},
		"recreates a Pod without TLS that has never run": {
			stateWith(initial(1), begun, managed, with(0, startedPlain, blockedBy(v1beta2.ReasonPodUnschedulable), outdated)),
			steps.DeletePod{Name: nameOf(0), Reason: v1beta2.ReasonSettling, Message: "spec.pod or spec.TLS has changed"},
		},
		"waits for a restore if the initial members were created without TLS": {
			stateWith(initial(3), begun, managed, with(0, startedPlain), func(s *state.State) { s.RestorePending = "back" }),
			steps.Wait{Reason: v1beta2.ReasonWaitingForRestore, Message: "The cluster starts from EtcdRestore back and serves no client until then. To start it empty, delete that EtcdRestore."},
		},
		"changes nothing if TLS is added to the spec of a running cluster": {
			stateWith(formed, members(3), managed, with(0, func(m *state.Member) { m.SecurePeer, m.SecureClient = false, false })), tlsRefusal("between members is on in the spec and off"),
		},
	}.run(t)
}

func everyoneUnready(d time.Duration) change {
	return func(s *state.State) {
		for i := range s.Members {
			unreadyFor(d)(&s.Members[i])
		}
	}
}

// startedPlain: the Pod of the member was created without TLS.
func startedPlain(m *state.Member) {
	onVolume(m)
	m.Start, m.SecurePeer, m.SecureClient = state.StartNew, false, false
}

func tlsRefusal(what string) steps.Wait {
	return tlsRefusalOf(what, "save a snapshot and restore it into a new EtcdCluster")
}

func tlsRefusalOf(what, wayOut string) steps.Wait {
	return steps.Wait{
		Reason:  v1beta2.ReasonTLSChangeNotSupported,
		Message: "TLS " + what + " in member " + nameOf(0) + ". A running cluster cannot change it. The operator changes nothing until you set spec.TLS back. To change it, " + wayOut + ".",
		Stalled: true,
	}
}

func TestPlanRotate(t *testing.T) {
	set := func(f func(*state.Certificates)) change { return certs(f) }
	outdated := set(func(c *state.Certificates) {
		c.Outdated, c.SwitchAfter, c.Superseded = true, noon, false
		c.CA.Previous = true
	})
	superseded := set(func(c *state.Certificates) {
		c.Superseded, c.DropAfter = true, noon
		c.CA.Previous = true
	})
	everyone := func(s *state.State) {
		for i := range s.Members {
			s.Members[i].ShowsNew = true
		}
	}
	planTests{
		"issues certificates of the new CA when every member trusts it": {
			stateWith(formed, members(3), managed, outdated), steps.WriteCertificates{Switch: true, Cause: "all members trust the new CA"},
		},
		"restarts a member that does not trust the new CA before it issues certificates of it": {
			stateWith(formed, members(3), managed, outdated, with(1, func(m *state.Member) { m.Trust = "old" })),
			steps.DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonRotatingCertificates, Message: "it must trust the CA that its Secrets hold now"},
		},
		"issues no certificates of the new CA while a member is starting": {
			stateWith(formed, members(3), managed, outdated, with(1, pod(state.PodStarting))), steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(1) + " is starting."},
		},
		"gives clients time to load the new CA": {
			stateWith(formed, members(3), managed, outdated, set(func(c *state.Certificates) { c.SwitchAfter = noon.Add(time.Second) })), steps.Done{},
		},
		"drops the old CA when no member shows a certificate of it": {
			stateWith(formed, members(3), managed, superseded, everyone), steps.WriteCertificates{Drop: true, Cause: "no certificate of the old CA is in use"},
		},
		"does not drop the old CA while a member shows a certificate of it": {
			stateWith(formed, members(3), managed, superseded, everyone, with(2, func(m *state.Member) { m.ShowsNew = false })),
			steps.Wait{Reason: v1beta2.ReasonRotatingCertificates, Message: "Member " + nameOf(2) + " has not loaded its new certificates yet. The kubelet writes them within two minutes."},
		},
		"gives clients time to load new certificates before it drops the old CA": {
			stateWith(formed, members(3), managed, superseded, everyone, set(func(c *state.Certificates) { c.DropAfter = noon.Add(time.Second) })), steps.Done{},
		},
		"removes the previous CA from the Secret of the CA at the end": {
			stateWith(formed, members(3), managed, set(func(c *state.Certificates) { c.CA.Previous = true })), steps.RemovePreviousCA{},
		},
	}.run(t)
}
