package plan

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

func staticTLS(s *state.State) {
	s.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{PeerSecret: "peer-tls"}}}
	for i := range s.Members {
		s.Members[i].SecurePeer = true
	}
}

func withEnv(variables ...corev1.EnvVar) change {
	return func(s *state.State) { s.Spec.Pod = &v1beta2.PodPolicy{EtcdEnv: variables} }
}

var (
	lacksName  = certs(func(c *state.Certificates) { c.PeerLacksName = true })
	checks     = func(m *state.Member) { m.ChecksPeers = true }
	hasForeign = func(s *state.State) { s.ForeignMembers = []state.ForeignMember{{ID: etcd.ID(7)}} }
)

func TestMembersCheckThePeersNameUnlessACertificateInUseMayLackIt(t *testing.T) {
	const hostname, name = "ETCD_PEER_CERT_ALLOWED_HOSTNAME", "ETCD_PEER_CERT_ALLOWED_CN"
	for what, test := range map[string]struct {
		state       state.State
		incarnation int32
		want        bool
	}{
		"certificates of the operator":              {stateWith(formed, members(3), managed), 1, true},
		"certificates of cert-manager":              {stateWith(formed, members(3), fromCertManager), 1, true},
		"a static certificate with the name":        {stateWith(formed, members(3), staticTLS), 1, true},
		"a static certificate without the name":     {stateWith(formed, members(3), staticTLS, lacksName), 1, false},
		"no TLS":                                    {stateWith(formed, members(3)), 1, false},
		"a foreign member":                          {stateWith(formed, members(3), managed, hasForeign), 1, false},
		"a foreign member of the data before":       {stateWith(formed, members(3), managed, hasForeign), 2, true},
		"a name of the user":                        {stateWith(formed, members(3), managed, withEnv(corev1.EnvVar{Name: hostname, Value: "x"})), 1, false},
		"a common name of the user":                 {stateWith(formed, members(3), managed, withEnv(corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{}})), 1, false},
		"a variable of the user without a value":    {stateWith(formed, members(3), managed, withEnv(corev1.EnvVar{Name: name})), 1, true},
		"a certificate of the user for connections": {stateWith(formed, members(3), managed, withEnv(corev1.EnvVar{Name: "ETCD_PEER_CLIENT_CERT_FILE", Value: "/c/tls.crt"})), 1, false},
		"a release of etcd that lacks the flag":     {stateWith(managed, ofVersion("3.3.27")), 1, false},
		"the oldest release of etcd with the flag":  {stateWith(managed, ofVersion("3.4.0")), 1, true},
	} {
		if got := certificates.ChecksPeers(test.state, test.incarnation); got != test.want {
			t.Errorf("%s: members check the name: %t, want %t", what, got, test.want)
		}
	}
}

func TestPlanReportsAPeerCertificateWithoutTheName(t *testing.T) {
	advice := stateWith(formed, members(3), staticTLS, lacksName)
	stalled := stateWith(formed, members(3), staticTLS, lacksName, with(1, checks))
	planTests{
		"advises to add the name if no member checks it": {advice, steps.Advice{Reason: v1beta2.ReasonCertificateLacksName, Message: certificates.AdviseOfPeerName(advice).(steps.Advice).Message}},
		"changes no member while another one refuses the certificate": {
			stateWith(formed, members(3), staticTLS, lacksName, with(1, checks), with(2, func(m *state.Member) { m.Outdated = true })), certificates.PeersRefuseCertificate(stalled),
		},
		"does not let members load a certificate early that they refuse": {
			stateWith(formed, members(3), staticTLS, lacksName, with(1, checks), certs(func(c *state.Certificates) { c.Loaded = "new" })), certificates.PeersRefuseCertificate(stalled),
		},
		"starts a member that has no Pod, without the check": {
			stateWith(formed, members(3), staticTLS, lacksName, with(0, checks), with(1, withoutPod)), steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin},
		},
		"reports nothing if the user checks the name": {stateWith(formed, members(3), staticTLS, lacksName, withEnv(corev1.EnvVar{Name: "ETCD_PEER_CERT_ALLOWED_CN", Value: "x"})), steps.Done{}},
	}.run(t)
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
	s := stateWith(formed, members(3), staticTLS, lacksName, noQuorum, certs(func(c *state.Certificates) { c.Trust = "ca" }))
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
	s := stateWith(formed, members(3), staticTLS, lacksName, noQuorum, policy(v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}))
	for i := range s.Members {
		m := &s.Members[i]
		m.ChecksPeers, m.Serving, m.PodReady, m.UnreadySince = true, false, false, s.Now.Add(-time.Hour)
	}
	wait, is := Plan(s).(steps.Wait)
	if !is || wait.Reason != v1beta2.ReasonQuorumLost || !strings.Contains(wait.Message, "Secret peer-tls") || !strings.Contains(wait.Message, state.PeerHostname(s)) {
		t.Errorf("the plan is %#v, want a lost quorum that names the Secret and the name", Plan(s))
	}
}
