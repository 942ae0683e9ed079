package certificates_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func TestMembersCheckThePeersNameUnlessACertificateInUseMayLackIt(t *testing.T) {
	const hostname, name = "ETCD_PEER_CERT_ALLOWED_HOSTNAME", "ETCD_PEER_CERT_ALLOWED_CN"
	for what, test := range map[string]struct {
		state       state.State
		incarnation int32
		want        bool
	}{
		"certificates of the operator":              {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed), 1, true},
		"certificates of cert-manager":              {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.FromCertManager), 1, true},
		"a static certificate with the name":        {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.StaticTLS), 1, true},
		"a static certificate without the name":     {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.StaticTLS, plantest.LacksName), 1, false},
		"no TLS":                                    {plantest.StateWith(plantest.Formed, plantest.Members(3)), 1, false},
		"a foreign member":                          {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, plantest.HasForeign), 1, false},
		"a foreign member of the data before":       {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, plantest.HasForeign), 2, true},
		"a name of the user":                        {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, plantest.WithEnv(corev1.EnvVar{Name: hostname, Value: "x"})), 1, false},
		"a common name of the user":                 {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, plantest.WithEnv(corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{}})), 1, false},
		"a variable of the user without a value":    {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, plantest.WithEnv(corev1.EnvVar{Name: name})), 1, true},
		"a certificate of the user for connections": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, plantest.WithEnv(corev1.EnvVar{Name: "ETCD_PEER_CLIENT_CERT_FILE", Value: "/c/tls.crt"})), 1, false},
		"a release of etcd that lacks the flag":     {plantest.StateWith(plantest.Managed, plantest.OfVersion("3.3.27")), 1, false},
		"the oldest release of etcd with the flag":  {plantest.StateWith(plantest.Managed, plantest.OfVersion("3.4.0")), 1, true},
	} {
		if got := certificates.ChecksPeers(test.state, test.incarnation); got != test.want {
			t.Errorf("%s: members check the name: %t, want %t", what, got, test.want)
		}
	}
}

func TestPlanReportsAPeerCertificateWithoutTheName(t *testing.T) {
	advice := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.StaticTLS, plantest.LacksName)
	stalled := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.StaticTLS, plantest.LacksName, plantest.With(1, plantest.Checks))
	plantest.Plans{
		"advises to add the name if no member checks it": {advice, steps.Advice{Reason: v1beta2.ReasonCertificateLacksName, Message: certificates.AdviseOfPeerName(advice).(steps.Advice).Message}},
		"changes no member while another one refuses the certificate": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.StaticTLS, plantest.LacksName, plantest.With(1, plantest.Checks), plantest.With(2, func(m *state.Member) { m.Outdated = true })), certificates.PeersRefuseCertificate(stalled),
		},
		"does not let members load a certificate early that they refuse": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.StaticTLS, plantest.LacksName, plantest.With(1, plantest.Checks), plantest.Certs(func(c *state.Certificates) { c.Loaded = "new" })), certificates.PeersRefuseCertificate(stalled),
		},
		"starts a member that has no Pod, without the check": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.StaticTLS, plantest.LacksName, plantest.With(0, plantest.Checks), plantest.With(1, plantest.WithoutPod)), steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin},
		},
		"reports nothing if the user checks the name": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.StaticTLS, plantest.LacksName, plantest.WithEnv(corev1.EnvVar{Name: "ETCD_PEER_CERT_ALLOWED_CN", Value: "x"})), steps.Done{}},
	}.Run(t, plan.Plan)
	for _, message := range []string{certificates.AdviseOfPeerName(advice).(steps.Advice).Message, certificates.PeersRefuseCertificate(stalled).(steps.Wait).Message} {
		if !strings.Contains(message, "Secret peer-tls") || !strings.Contains(message, state.PeerHostname(advice)) {
			t.Errorf("the message names neither Secret nor name: %s", message)
		}
	}
}

// Members that refuse each other have no quorum. Waiting does not help, so they restart without the check.
func TestMembersThatRefuseEachOtherRestartWithoutTheCheck(t *testing.T) {
	refusing := func(m *state.Member) {
		m.ChecksPeers, m.Serving, m.PodReady = true, false, false
	}
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.StaticTLS, plantest.LacksName, plantest.NoQuorum, plantest.Certs(func(c *state.Certificates) { c.Trust = "ca" }))
	for i := range s.Members {
		refusing(&s.Members[i])
		s.Members[i].Trust, s.Members[i].UnreadySince = "ca", s.Now.Add(-state.StartGrace+time.Second)
	}
	if step := certificates.RestartForNewCA(s); step != nil {
		t.Errorf("before %s are over, the plan is %#v", state.StartGrace, step)
	}
	for i := range s.Members {
		s.Members[i].UnreadySince = s.Now.Add(-state.StartGrace - time.Second)
	}
	if step, ok := certificates.RestartForNewCA(s).(steps.DeletePod); !ok || step.Reason != v1beta2.ReasonCertificateLacksName {
		t.Errorf("the plan is %#v", certificates.RestartForNewCA(s))
	}
}

// Their data is in the Pods, so the operator restarts none. A person must know which Secret to correct.
func TestALostQuorumOfMembersThatRefuseEachOtherNamesTheSecret(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.StaticTLS, plantest.LacksName, plantest.NoQuorum, plantest.Policy(v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}))
	for i := range s.Members {
		m := &s.Members[i]
		m.ChecksPeers, m.Serving, m.PodReady, m.UnreadySince = true, false, false, s.Now.Add(-time.Hour)
	}
	wait, is := plan.Plan(s).(steps.Wait)
	if !is || wait.Reason != v1beta2.ReasonQuorumLost || !strings.Contains(wait.Message, "Secret peer-tls") || !strings.Contains(wait.Message, state.PeerHostname(s)) {
		t.Errorf("the plan is %#v, want a lost quorum that names the Secret and the name", plan.Plan(s))
	}
}
