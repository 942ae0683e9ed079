package certificates_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func TestPlanCertificates(t *testing.T) {
	plantest.Plans{
		"changes nothing if a managed cluster is as its spec asks": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed), steps.Done{}},
		"creates the CA before anything else": {
			plantest.StateWith(plantest.Managed, plantest.Certs(func(c *state.Certificates) { *c = state.Certificates{Missing: true} })), steps.CreateCA{},
		},
		"creates the certificates after the CA": {
			plantest.StateWith(plantest.Managed, plantest.Certs(func(c *state.Certificates) { c.Missing, c.Due = true, "x" })), steps.WriteCertificates{Cause: "none exist yet"},
		},
		"does not overwrite a Secret of another owner": {
			plantest.StateWith(plantest.Managed, plantest.Certs(func(c *state.Certificates) { c.Missing, c.Foreign = true, "Secret x is there" })),
			steps.Wait{Reason: v1beta2.ReasonNotOurs, Message: "Secret x is there", Stalled: true},
		},
		"renews a certificate if quorum is lost: it may be the cause": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, plantest.NoQuorum, plantest.Certs(func(c *state.Certificates) { c.Due = "it ran out" })), steps.WriteCertificates{Cause: "it ran out"},
		},
		"lets members load a renewed certificate at once": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, plantest.Certs(func(c *state.Certificates) { c.Loaded = "new" })), steps.LoadCertificates{Name: plantest.NameOf(0), Loaded: "new"},
		},
		"replaces a CA before it expires": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, plantest.Certs(func(c *state.Certificates) { c.CA.ReplaceCause = "of age" })), steps.ReplaceCA{Cause: "of age"},
		},
		"recreates a member while the Secret of the CA is damaged": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, plantest.With(1, plantest.WithoutPod), plantest.Certs(func(c *state.Certificates) { c.CA.Broken = "Secret x" })),
			steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin},
		},
		"reports that the Secret of the CA is damaged if nothing else is to do": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, plantest.Certs(func(c *state.Certificates) { c.CA.Broken = "Secret x" })),
			steps.Wait{Reason: v1beta2.ReasonSecretMissing, Message: "Secret x", Stalled: true},
		},
		"creates no certificates while the Secret of the CA is damaged": {
			plantest.StateWith(plantest.Managed, plantest.Certs(func(c *state.Certificates) { c.Missing, c.CA.Broken = true, "Secret x" })),
			steps.Wait{Reason: v1beta2.ReasonSecretMissing, Message: "Secret x", Stalled: true},
		},
	}.Run(t, plan.Plan)
}

func TestPlanCertManager(t *testing.T) {
	unissued := func(why string) plantest.Change {
		return plantest.Certs(func(c *state.Certificates) { c.Unissued, c.UnissuedReason = "words", why })
	}
	missing := plantest.Certs(func(c *state.Certificates) { c.Missing = true })
	plantest.Plans{
		"changes nothing if a cluster with cert-manager is as its spec asks": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.FromCertManager), steps.Done{}},
		"requests certificates": {
			plantest.StateWith(plantest.FromCertManager, missing, plantest.Certs(func(c *state.Certificates) { c.Requested = false })), steps.RequestCertificates{},
		},
		"requests certificates again if the issuer was corrected": {
			plantest.StateWith(plantest.FromCertManager, missing, unissued(v1beta2.ReasonCertificateNotReady), plantest.Certs(func(c *state.Certificates) { c.Requested = false })), steps.RequestCertificates{},
		},
		"reports that cert-manager is missing": {
			plantest.StateWith(plantest.FromCertManager, missing, unissued(v1beta2.ReasonCertManagerMissing), plantest.Certs(func(c *state.Certificates) { c.Requested = false })),
			steps.Wait{Reason: v1beta2.ReasonCertManagerMissing, Message: "words", Stalled: true},
		},
		"waits for the first certificates": {
			plantest.StateWith(plantest.FromCertManager, missing, unissued(v1beta2.ReasonCertificateNotReady)), steps.Wait{Reason: v1beta2.ReasonCertificateNotReady, Message: "words"},
		},
		"recreates a member while cert-manager is missing": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.FromCertManager, plantest.With(1, plantest.WithoutPod), unissued(v1beta2.ReasonCertManagerMissing)),
			steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin},
		},
		"reports that a certificate was not renewed if nothing else is to do": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.FromCertManager, unissued(v1beta2.ReasonCertificateNotReady)),
			steps.Wait{Reason: v1beta2.ReasonCertificateNotReady, Message: "words"},
		},
	}.Run(t, plan.Plan)
}

func TestPlanTrust(t *testing.T) {
	trust := plantest.Certs(func(c *state.Certificates) { c.Trust = "both" })
	trusts := func(m *state.Member) { m.Trust = "both" }
	message := "it must trust the CA that its Secrets hold now"
	plantest.Plans{
		"restarts a follower that does not trust the new CA before the leader": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, trust), steps.DeletePod{Name: plantest.NameOf(1), Reason: v1beta2.ReasonRotatingCertificates, Message: message},
		},
		"restarts a member with static TLS for a new CA": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.WithTLS, trust, plantest.With(1, trusts)), steps.DeletePod{Name: plantest.NameOf(2), Reason: v1beta2.ReasonRotatingCertificates, Message: message},
		},
		"moves leadership before it restarts the leader for a new CA": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, trust, plantest.With(1, trusts), plantest.With(2, trusts)), steps.MoveLeader{From: plantest.NameOf(0), To: 2, Name: plantest.NameOf(1)},
		},
		"restarts no member while another one is starting": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, trust, plantest.With(1, trusts, plantest.Pod(state.PodStarting))), steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + plantest.NameOf(1) + " is starting."},
		},
		"restarts a member without the new CA if no quorum answers and it was unready for 6 min": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.WithTLS, plantest.NoQuorum, trust, everyoneUnready(6*time.Minute), plantest.With(0, trusts, plantest.UnreadyFor(time.Second))),
			steps.DeletePod{Name: plantest.NameOf(1), Reason: v1beta2.ReasonRotatingCertificates, Message: "no quorum answers, and it must trust the CA that its Secrets hold now"},
		},
		"restarts no member for the new CA if no quorum answers for 1 s": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, plantest.NoQuorum, trust, plantest.With(0, trusts)),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "No quorum answers. Members that hold data are running or starting: " + plantest.NameOf(0) + ", " + plantest.NameOf(1) + ", " + plantest.NameOf(2) + "."},
		},
		"restarts no member for the new CA while another one is stopping": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, plantest.NoQuorum, trust, everyoneUnready(6*time.Minute), plantest.With(0, plantest.Pod(state.PodDeleting))),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "No quorum answers. Members that hold data are running or starting: " + plantest.NameOf(0) + ", " + plantest.NameOf(1) + ", " + plantest.NameOf(2) + "."},
		},
		"changes nothing if TLS is removed from the spec of a running cluster": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, func(s *state.State) { s.Spec.TLS = nil }), tlsRefusal("between members is off in the spec and on"),
		},
		"reports at once that initial members without TLS cannot form if the spec has TLS": {
			plantest.StateWith(plantest.Initial(3), plantest.Begun, plantest.Managed, plantest.With(0, startedPlain), plantest.With(1, startedPlain), plantest.With(2, startedPlain)), tlsRefusalOf("between members is on in the spec and off", "delete the EtcdCluster and create it again: it has served no client yet"),
		},
		"recreates a Pod without TLS that has never run": {
			plantest.StateWith(plantest.Initial(1), plantest.Begun, plantest.Managed, plantest.With(0, startedPlain, plantest.BlockedBy(v1beta2.ReasonPodUnschedulable), plantest.Outdated)),
			steps.DeletePod{Name: plantest.NameOf(0), Reason: v1beta2.ReasonSettling, Message: "spec.pod or spec.TLS has changed"},
		},
		"waits for a restore if the initial members were created without TLS": {
			plantest.StateWith(plantest.Initial(3), plantest.Begun, plantest.Managed, plantest.With(0, startedPlain), func(s *state.State) { s.RestorePending = "back" }),
			steps.Wait{Reason: v1beta2.ReasonWaitingForRestore, Message: "The cluster starts from EtcdRestore back and serves no client until then. To start it empty, delete that EtcdRestore."},
		},
		"changes nothing if TLS is added to the spec of a running cluster": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, plantest.With(0, func(m *state.Member) { m.SecurePeer, m.SecureClient = false, false })), tlsRefusal("between members is on in the spec and off"),
		},
	}.Run(t, plan.Plan)
}

func everyoneUnready(d time.Duration) plantest.Change {
	return func(s *state.State) {
		for i := range s.Members {
			plantest.UnreadyFor(d)(&s.Members[i])
		}
	}
}

// startedPlain: the Pod of the member was created without TLS.
func startedPlain(m *state.Member) {
	plantest.OnVolume(m)
	m.Start, m.SecurePeer, m.SecureClient = state.StartNew, false, false
}

func tlsRefusal(what string) steps.Wait {
	return tlsRefusalOf(what, "save a snapshot and restore it into a new EtcdCluster")
}

func tlsRefusalOf(what, wayOut string) steps.Wait {
	return steps.Wait{
		Reason:  v1beta2.ReasonTLSChangeNotSupported,
		Message: "TLS " + what + " in member " + plantest.NameOf(0) + ". A running cluster cannot change it. The operator changes nothing until you set spec.TLS back. To change it, " + wayOut + ".",
		Stalled: true,
	}
}

func TestPlanRotate(t *testing.T) {
	set := func(f func(*state.Certificates)) plantest.Change { return plantest.Certs(f) }
	outdated := set(func(c *state.Certificates) {
		c.Outdated, c.SwitchAfter, c.Superseded = true, plantest.Noon, false
		c.CA.Previous = true
	})
	superseded := set(func(c *state.Certificates) {
		c.Superseded, c.DropAfter = true, plantest.Noon
		c.CA.Previous = true
	})
	everyone := func(s *state.State) {
		for i := range s.Members {
			s.Members[i].ShowsNew = true
		}
	}
	plantest.Plans{
		"issues certificates of the new CA when every member trusts it": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, outdated), steps.WriteCertificates{Switch: true, Cause: "all members trust the new CA"},
		},
		"restarts a member that does not trust the new CA before it issues certificates of it": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, outdated, plantest.With(1, func(m *state.Member) { m.Trust = "old" })),
			steps.DeletePod{Name: plantest.NameOf(1), Reason: v1beta2.ReasonRotatingCertificates, Message: "it must trust the CA that its Secrets hold now"},
		},
		"issues no certificates of the new CA while a member is starting": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, outdated, plantest.With(1, plantest.Pod(state.PodStarting))), steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + plantest.NameOf(1) + " is starting."},
		},
		"gives clients time to load the new CA": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, outdated, set(func(c *state.Certificates) { c.SwitchAfter = plantest.Noon.Add(time.Second) })), steps.Done{},
		},
		"drops the old CA when no member shows a certificate of it": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, superseded, everyone), steps.WriteCertificates{Drop: true, Cause: "no certificate of the old CA is in use"},
		},
		"does not drop the old CA while a member shows a certificate of it": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, superseded, everyone, plantest.With(2, func(m *state.Member) { m.ShowsNew = false })),
			steps.Wait{Reason: v1beta2.ReasonRotatingCertificates, Message: "Member " + plantest.NameOf(2) + " has not loaded its new certificates yet. The kubelet writes them within two minutes."},
		},
		"gives clients time to load new certificates before it drops the old CA": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, superseded, everyone, set(func(c *state.Certificates) { c.DropAfter = plantest.Noon.Add(time.Second) })), steps.Done{},
		},
		"removes the previous CA from the Secret of the CA at the end": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, set(func(c *state.Certificates) { c.CA.Previous = true })), steps.RemovePreviousCA{},
		},
	}.Run(t, plan.Plan)
}
