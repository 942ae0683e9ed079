package plan

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// ofCluster asks that members accept only clients of this cluster.
func ofCluster(s *state.State) {
	s.Spec.TLS.AcceptClients = v1beta2.AcceptClientsOfCluster
	for i := range s.Members {
		s.Members[i].SecureClient = true
	}
}

func staticClientTLS(s *state.State) {
	s.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{ServerSecret: "server-tls"}, OperatorSecret: "operator-tls"}}
}

var (
	lacksClientName = certs(func(c *state.Certificates) { c.ClientsLackName = true })
	checksClients   = func(m *state.Member) { m.ChecksClients = true }
	stillLoad       = func(s *state.State) { s.Certificates.CheckClientsAfter = s.Now.Add(time.Hour) }
	haveLoaded      = func(s *state.State) { s.Certificates.CheckClientsAfter = s.Now.Add(-time.Second) }
)

// A member that checks the name too early locks its clients out. One that never does lets in the clients of other clusters.
func TestMembersCheckTheNameOfClientsWhenNoneIsLockedOut(t *testing.T) {
	variable := corev1.EnvVar{Name: "ETCD_CLIENT_CERT_ALLOWED_HOSTNAME", Value: "x"}
	for what, test := range map[string]struct {
		state state.State
		want  bool
	}{
		"the spec does not ask for it":                        {stateWith(formed, members(3), fromCertManager), false},
		"a new cluster":                                       {stateWith(fromCertManager, ofCluster), true},
		"a new cluster whose clients have had no time":        {stateWith(fromCertManager, ofCluster, stillLoad), true},
		"certificates without the name":                       {stateWith(formed, members(3), fromCertManager, ofCluster, lacksClientName), false},
		"clients that may use a certificate without the name": {stateWith(formed, members(3), fromCertManager, ofCluster, stillLoad), false},
		"clients that have had their time":                    {stateWith(formed, members(3), fromCertManager, ofCluster, haveLoaded), true},
		"another member that checks it already":               {stateWith(formed, members(3), fromCertManager, ofCluster, stillLoad, with(1, checksClients)), true},
		"managed certificates":                                {stateWith(formed, members(3), managed, ofCluster), true},
		"static certificates with the name":                   {stateWith(formed, members(3), staticClientTLS, ofCluster), true},
		"static certificates without the name":                {stateWith(formed, members(3), staticClientTLS, ofCluster, lacksClientName), false},
		"a check of the user":                                 {stateWith(formed, members(3), fromCertManager, ofCluster, withEnv(variable)), false},
		"no TLS for clients":                                  {stateWith(formed, members(3), staticTLS, ofCluster), false},
	} {
		if got := certificates.ChecksClients(test.state); got != test.want {
			t.Errorf("%s: members check the name: %t, want %t", what, got, test.want)
		}
	}
}

// Members restart one by one when the check begins or ends. Until then no Pod is outdated, or the operator would restart members for nothing.
func TestPodsAreOutdatedWhenTheCheckOfClientsBeginsOrEnds(t *testing.T) {
	for what, test := range map[string]struct {
		state state.State
		want  bool
	}{
		"the spec does not ask for it":    {stateWith(formed, members(3), fromCertManager, func(s *state.State) { ofCluster(s); s.Spec.TLS.AcceptClients = "" }), false},
		"clients still load":              {stateWith(formed, members(3), fromCertManager, ofCluster, stillLoad), false},
		"clients have had their time":     {stateWith(formed, members(3), fromCertManager, ofCluster, haveLoaded), true},
		"the spec takes it back":          {stateWith(formed, members(3), fromCertManager, func(s *state.State) { ofCluster(s); s.Spec.TLS.AcceptClients = v1beta2.AcceptClientsOfCA }, with(1, checksClients)), true},
		"a member has no TLS for clients": {stateWith(formed, members(3), staticTLS, func(s *state.State) { s.Spec.TLS.AcceptClients = v1beta2.AcceptClientsOfCluster }), false},
	} {
		certificates.CompareClientCheck(&test.state)
		if got := test.state.Members[1].Outdated; got != test.want {
			t.Errorf("%s: the Pod is outdated: %t, want %t", what, got, test.want)
		}
	}
}

// A name that is taken back while members check it locks the operators and all clients out.
func TestCertificatesOfClientsKeepTheirName(t *testing.T) {
	ca, err := pki.NewCA("x", noon, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	lacking := func(s state.State) (lacking []string) {
		for _, u := range state.Usages {
			pair, err := ca.Issue(state.CertificateRequest(s, u), noon, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			if state.LacksClientName(s, pair.Cert) {
				lacking = append(lacking, u.Name)
			}
		}
		return lacking
	}
	if got := lacking(stateWith(managed)); len(got) != 2 {
		t.Errorf("without acceptClients, the certificates of %v have no name, want those of client and operator: an approver policy may not allow it", got)
	}
	for what, s := range map[string]state.State{
		"the spec asks for it":                 stateWith(managed, ofCluster),
		"the spec does not ask for it anymore": stateWith(managed, func(s *state.State) { s.NamedClients = true }),
		"by cert-manager":                      stateWith(fromCertManager, ofCluster),
	} {
		if got := lacking(s); len(got) != 0 {
			t.Errorf("%s: the certificates of %v have no name", what, got)
		}
	}
	if s := stateWith(managed, ofCluster); state.LacksPeerName(s, nil) || state.ClientHostname(s) == state.PeerHostname(s) {
		t.Error("a client certificate would open the peer port")
	}
}

func TestTheTimeForClientsToLoadBeginsWhenTheirCertificateGetsTheName(t *testing.T) {
	s, client := stateWith(formed, members(3), fromCertManager, ofCluster), usage("client")
	named, plain := newShop(t, s.Now).issue(s, client).Get(material.IssuedCertKey), newShop(t, s.Now).issue(stateWith(fromCertManager), client).Get(material.IssuedCertKey)
	earlier := s.Now.Add(-time.Hour).UTC().Format(time.RFC3339)
	held := func(cert []byte, since string) *material.Secret {
		return &material.Secret{Data: map[string][]byte{v1beta2.ClientCertKey: cert}, Annotations: map[string]string{material.AnnotationClientHostnameSince: since}}
	}
	for what, test := range map[string]struct {
		of     state.Usage
		before *material.Secret
		cert   []byte
		want   string
	}{
		"the first one with the name":           {client, held(plain, ""), named, s.Now.UTC().Format(time.RFC3339)},
		"a renewed one":                         {client, held(named, earlier), named, earlier},
		"the name was taken out in between":     {client, held(plain, earlier), named, s.Now.UTC().Format(time.RFC3339)},
		"the Secret was deleted":                {client, nil, named, s.Now.UTC().Format(time.RFC3339)},
		"one without the name":                  {client, held(named, earlier), plain, ""},
		"that of a member, which has all names": {usage("peer"), nil, named, ""},
	} {
		m := material.Material{HandedOut: map[string]*material.Secret{}}
		if test.before != nil {
			m.HandedOut[test.of.Name] = test.before
		}
		if got := material.ClientHostnameSince(m, s, test.of, test.cert); got != test.want {
			t.Errorf("%s: since %q, want %q", what, got, test.want)
		}
	}
	if got := material.ClientHostnameSince((material.Material{}), stateWith(fromCertManager, ofCluster), client, named); got != "1970-01-01T00:00:00Z" {
		t.Errorf("the clients of a new cluster have had time since %s", got)
	}
}

func TestPlanReportsThatMembersDoNotCheckTheNameOfClientsYet(t *testing.T) {
	lacks := stateWith(formed, members(3), staticClientTLS, ofCluster, lacksClientName)
	waits := stateWith(formed, members(3), fromCertManager, ofCluster, stillLoad)
	planTests{
		"a certificate without the name":               {lacks, certificates.AdviseOfClientName(lacks)},
		"clients that still load their certificate":    {waits, certificates.AdviseOfClientName(waits)},
		"nothing if the user has a check":              {stateWith(formed, members(3), staticClientTLS, ofCluster, lacksClientName, withEnv(corev1.EnvVar{Name: "ETCD_CLIENT_CERT_ALLOWED_HOSTNAME", Value: "x"})), steps.Done{}},
		"nothing if members accept all clients anyway": {stateWith(formed, members(3), staticClientTLS, ofCluster, lacksClientName, func(s *state.State) { s.Spec.TLS.AcceptClients = "" }), steps.Done{}},
	}.run(t)
	if message := certificates.AdviseOfClientName(lacks).(steps.Advice).Message; !strings.Contains(message, "Secret operator-tls") || !strings.Contains(message, state.ClientHostname(lacks)) {
		t.Errorf("the message names neither Secret nor name: %s", message)
	}
}

// The operator is a client, too. A person must know which Secret keeps it out.
func TestAnOperatorThatMembersRefuseNamesItsSecret(t *testing.T) {
	s := stateWith(formed, members(3), staticClientTLS, ofCluster, lacksClientName, noQuorum)
	for i := range s.Members {
		m := &s.Members[i]
		m.ChecksClients, m.Serving, m.Answers, m.PodReady, m.InService, m.SilentSince = true, false, false, true, true, s.Now.Add(-time.Hour)
	}
	wait, is := Plan(s).(steps.Wait)
	if !is || wait.Reason != v1beta2.ReasonMembersUnreachable || !strings.Contains(wait.Message, "Secret operator-tls") || !strings.Contains(wait.Message, state.ClientHostname(s)) {
		t.Errorf("the plan is %#v, want members that are unreachable, with the Secret and the name", Plan(s))
	}
}
