package plan

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

func staticTLS(s *State) {
	s.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{PeerSecret: "peer-tls"}}}
	for i := range s.Members {
		s.Members[i].SecurePeer = true
	}
}

func withEnv(variables ...corev1.EnvVar) change {
	return func(s *State) { s.Spec.Pod = &v1beta2.PodPolicy{EtcdEnv: variables} }
}

var (
	lacksName  = certs(func(c *Certificates) { c.PeerLacksName = true })
	checks     = func(m *Member) { m.ChecksPeers = true }
	hasForeign = func(s *State) { s.ForeignMembers = []ForeignMember{{ID: etcd.ID(7)}} }
)

func TestMembersCheckThePeersNameUnlessACertificateInUseMayLackIt(t *testing.T) {
	const hostname, name = "ETCD_PEER_CERT_ALLOWED_HOSTNAME", "ETCD_PEER_CERT_ALLOWED_CN"
	for what, test := range map[string]struct {
		state       State
		incarnation int32
		want        bool
	}{
		"certificates of the operator":              {state(formed, members(3), managed), 1, true},
		"certificates of cert-manager":              {state(formed, members(3), fromCertManager), 1, true},
		"a static certificate with the name":        {state(formed, members(3), staticTLS), 1, true},
		"a static certificate without the name":     {state(formed, members(3), staticTLS, lacksName), 1, false},
		"no TLS":                                    {state(formed, members(3)), 1, false},
		"a foreign member":                          {state(formed, members(3), managed, hasForeign), 1, false},
		"a foreign member of the data before":       {state(formed, members(3), managed, hasForeign), 2, true},
		"a name of the user":                        {state(formed, members(3), managed, withEnv(corev1.EnvVar{Name: hostname, Value: "x"})), 1, false},
		"a common name of the user":                 {state(formed, members(3), managed, withEnv(corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{}})), 1, false},
		"a variable of the user without a value":    {state(formed, members(3), managed, withEnv(corev1.EnvVar{Name: name})), 1, true},
		"a certificate of the user for connections": {state(formed, members(3), managed, withEnv(corev1.EnvVar{Name: "ETCD_PEER_CLIENT_CERT_FILE", Value: "/c/tls.crt"})), 1, false},
		"a release of etcd that lacks the flag":     {state(managed, ofVersion("3.3.27")), 1, false},
		"the oldest release of etcd with the flag":  {state(managed, ofVersion("3.4.0")), 1, true},
	} {
		if got := test.state.ChecksPeers(test.incarnation); got != test.want {
			t.Errorf("%s: members check the name: %t, want %t", what, got, test.want)
		}
	}
}

// Both certificates are of one CA: only the name keeps a client out of the peer port.
func TestOnlyTheCertificatesOfMembersHaveThePeersName(t *testing.T) {
	s := state(managed)
	ca, err := pki.NewCA("x", s.Now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range Usages {
		pair, err := ca.Issue(s.CertificateRequest(u), s.Now, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		ofMember := u.Name == "peer" || u.Name == "server"
		if s.LacksPeerName(pair.Cert) == ofMember {
			t.Errorf("the certificate of %ss covers %s: %t, want %t", u.Name, s.PeerHostname(), !ofMember, ofMember)
		}
	}
	if other := state(managed, func(s *State) { s.Namespace = "other" }); other.PeerHostname() == s.PeerHostname() {
		t.Error("clusters of two namespaces have one name")
	}
}

func TestPlanReportsAPeerCertificateWithoutTheName(t *testing.T) {
	advice := state(formed, members(3), staticTLS, lacksName)
	stalled := state(formed, members(3), staticTLS, lacksName, with(1, checks))
	planTests{
		"advises to add the name if no member checks it": {advice, Advice{Reason: v1beta2.ReasonCertificateLacksName, Message: adviseOfPeerName(advice).(Advice).Message}},
		"changes no member while another one refuses the certificate": {
			state(formed, members(3), staticTLS, lacksName, with(1, checks), with(2, func(m *Member) { m.Outdated = true })), peersRefuseCertificate(stalled),
		},
		"does not let members load a certificate early that they refuse": {
			state(formed, members(3), staticTLS, lacksName, with(1, checks), certs(func(c *Certificates) { c.Loaded = "new" })), peersRefuseCertificate(stalled),
		},
		"starts a member that has no Pod, without the check": {
			state(formed, members(3), staticTLS, lacksName, with(0, checks), with(1, withoutPod)), CreateMember{Name: nameOf(1), Incarnation: 1, Start: StartRejoin},
		},
		"reports nothing if the user checks the name": {state(formed, members(3), staticTLS, lacksName, withEnv(corev1.EnvVar{Name: "ETCD_PEER_CERT_ALLOWED_CN", Value: "x"})), Done{}},
	}.run(t)
	for _, message := range []string{adviseOfPeerName(advice).(Advice).Message, peersRefuseCertificate(stalled).(Wait).Message} {
		if !strings.Contains(message, "Secret peer-tls") || !strings.Contains(message, advice.PeerHostname()) {
			t.Errorf("the message names neither Secret nor name: %s", message)
		}
	}
}

// Members that refuse each other have no quorum. Waiting does not help, so they restart without the check.
func TestMembersThatRefuseEachOtherRestartWithoutTheCheck(t *testing.T) {
	refusing := func(m *Member) {
		m.ChecksPeers, m.Serving, m.PodReady = true, false, false
	}
	s := state(formed, members(3), staticTLS, lacksName, noQuorum, certs(func(c *Certificates) { c.Trust = "ca" }))
	for i := range s.Members {
		refusing(&s.Members[i])
		s.Members[i].Trust, s.Members[i].UnreadySince = "ca", s.Now.Add(-startGrace+time.Second)
	}
	if step := restartForNewCA(s); step != nil {
		t.Errorf("before %s are over, the plan is %#v", startGrace, step)
	}
	for i := range s.Members {
		s.Members[i].UnreadySince = s.Now.Add(-startGrace - time.Second)
	}
	if step, ok := restartForNewCA(s).(DeletePod); !ok || step.Reason != v1beta2.ReasonCertificateLacksName {
		t.Errorf("the plan is %#v", restartForNewCA(s))
	}
}

// Their data is in the Pods, so the operator restarts none. A person must know which Secret to correct.
func TestALostQuorumOfMembersThatRefuseEachOtherNamesTheSecret(t *testing.T) {
	s := state(formed, members(3), staticTLS, lacksName, noQuorum, policy(v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}))
	for i := range s.Members {
		m := &s.Members[i]
		m.ChecksPeers, m.Serving, m.PodReady, m.UnreadySince = true, false, false, s.Now.Add(-time.Hour)
	}
	wait, is := Plan(s).(Wait)
	if !is || wait.Reason != v1beta2.ReasonQuorumLost || !strings.Contains(wait.Message, "Secret peer-tls") || !strings.Contains(wait.Message, s.PeerHostname()) {
		t.Errorf("the plan is %#v, want a lost quorum that names the Secret and the name", Plan(s))
	}
}
