package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// shop is a cert-manager with one CA: it issues what a State asks for.
type shop struct {
	t  *testing.T
	ca *pki.CA
}

func newShop(t *testing.T, now time.Time) shop {
	t.Helper()
	ca, err := pki.NewCA("x", now.Add(-time.Hour), 10*365*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return shop{t, ca}
}

func (c shop) issue(s state.State, u state.Usage) *material.Secret {
	c.t.Helper()
	pair, err := c.ca.Issue(state.CertificateRequest(s, u), s.Now.Add(-time.Minute), 90*24*time.Hour)
	if err != nil {
		c.t.Fatal(err)
	}
	return &material.Secret{Data: map[string][]byte{material.IssuedCertKey: pair.Cert, material.IssuedKeyKey: pair.Key, material.IssuedCAKey: c.ca.Cert}}
}

// write does what writeCertificates does: it creates what is missing, and updates what differs. Annotations are merged.
func write(t *testing.T, m material.Material, s state.State) material.Material {
	t.Helper()
	s.NamedClients = m.NamedClients(s) || state.MembersCheckClients(s)
	after := map[string]*material.Secret{}
	for _, u := range state.Usages {
		is, before := (*material.Secret)(nil), m.HandedOut[u.Name]
		next, err := m.NewSecret(s, u, steps.WriteCertificates{})
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case next == nil:
			is = before
		case before == nil || !before.Same(next):
			is = next
			if before != nil {
				for k, v := range before.Annotations {
					if _, has := is.Annotations[k]; !has {
						is.Annotations[k] = v
					}
				}
			}
		default:
			is = before
		}
		if is != nil {
			after[u.Name] = is
		}
	}
	m.HandedOut = after
	return m
}

func judged(m material.Material, s state.State) state.State {
	s.NamedClients = m.NamedClients(s) || state.MembersCheckClients(s)
	s.Certificates = m.Judge(s, state.Certificates{Requested: true})
	return s
}

// asRunning: the Pods have TLS, and have loaded what the Secrets hold.
func asRunning(s state.State) state.State {
	for i := range s.Members {
		m := &s.Members[i]
		m.SecurePeer, m.SecureClient, m.Loaded, m.Trust, m.ChecksPeers = true, true, s.Certificates.Loaded, s.Certificates.Trust, true
	}
	return s
}

func usage(name string) state.Usage {
	for _, u := range state.Usages {
		if u.Name == name {
			return u
		}
	}
	panic(name)
}

// The user sets acceptClients: Cluster. The approver policy of cert-manager does not allow the new name yet, so no client certificate has it.
// Meanwhile cert-manager renews the certificate of peers. Ten days later the policy is corrected, and clients get the name.
func TestClientsHaveTheirTimeAlthoughAnotherCertificateWasRenewedFirst(t *testing.T) {
	plain := stateWith(formed, members(3), fromCertManager)
	shop := newShop(t, plain.Now)
	m := material.Material{HandedOut: map[string]*material.Secret{}, Issued: map[string]*material.Secret{}}
	for _, u := range state.Usages {
		m.Issued[u.Name] = shop.issue(plain, u)
	}
	m = write(t, m, plain)

	asked := stateWith(formed, members(3), fromCertManager, ofCluster)
	m.Issued["peer"] = shop.issue(asked, usage("peer"))
	if s := judged(m, asked); s.Certificates.Due == "" || !s.Certificates.ClientsLackName {
		t.Fatalf("%+v", s.Certificates)
	}
	m = write(t, m, asked)

	later := asked
	later.Now = asked.Now.Add(10 * 24 * time.Hour)
	for _, name := range []string{"client", state.OperatorUsage} {
		m.Issued[name] = shop.issue(later, usage(name))
	}
	m = write(t, m, later)
	s := judged(m, later)
	if certificates.ChecksClients(s) {
		s = asRunning(s)
		certificates.CompareClientCheck(&s)
		step, rule := Choose(s)
		t.Errorf("in the pass after the clients' certificate got its name, members are restarted with the check: rule %s: %T %+v", rule, step, step)
	}
}

// What docs/tls.md asks for before a rollback: acceptClients: CA. The earlier release takes the name out of the certificates, as it says. After
// the upgrade the user sets Cluster again.
func TestClientsHaveTheirTimeAgainAfterARollback(t *testing.T) {
	asked := stateWith(formed, members(3), fromCertManager, ofCluster)
	shop := newShop(t, asked.Now)
	m := material.Material{HandedOut: map[string]*material.Secret{}, Issued: map[string]*material.Secret{}}
	for _, u := range state.Usages {
		m.Issued[u.Name] = shop.issue(asked, u)
	}
	m = write(t, m, asked)
	if s := judged(m, asked); s.Certificates.ClientsLackName {
		t.Fatal("the certificates have no name")
	}
	// The earlier release knows neither the field nor the annotation. It asks for certificates without the name, and hands them out: its
	// update keeps annotations that it does not know.
	old := stateWith(formed, members(3), fromCertManager)
	old.Now = asked.Now.Add(30 * 24 * time.Hour)
	for _, name := range []string{"client", state.OperatorUsage} {
		issued := shop.issue(old, usage(name))
		m.Issued[name] = issued
		m.HandedOut[name].Data[v1beta2.ClientCertKey], m.HandedOut[name].Data[v1beta2.ClientKeyKey] = issued.Data[material.IssuedCertKey], issued.Data[material.IssuedKeyKey]
	}
	// The upgrade, and acceptClients: Cluster.
	again := asked
	again.Now = old.Now.Add(24 * time.Hour)
	if s := judged(m, again); !s.Certificates.ClientsLackName {
		t.Fatal("the certificates have the name")
	}
	for _, name := range []string{"client", state.OperatorUsage} {
		m.Issued[name] = shop.issue(again, usage(name))
	}
	m = write(t, m, again)
	s := judged(m, again)
	if certificates.ChecksClients(s) {
		s = asRunning(s)
		certificates.CompareClientCheck(&s)
		step, rule := Choose(s)
		t.Errorf("members are restarted with the check at once: rule %s: %T %+v", rule, step, step)
	}
}

// The user takes acceptClients: Cluster back, and the restart of members waits, here because a member is down. To have the clients' certificates
// renewed, a person deletes their two Secrets. All members still check the name.
func TestNoCertificateIsIssuedWithoutTheNameThatMembersCheck(t *testing.T) {
	asked := stateWith(formed, members(3), managed, ofCluster)
	ca, err := pki.NewCA("x", asked.Now.Add(-time.Hour), 10*365*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	m := material.Material{CA: &material.Secret{Data: map[string][]byte{material.CACertKey: ca.Cert, material.CAKeyKey: ca.Key}}, HandedOut: map[string]*material.Secret{}}
	m = write(t, m, asked)
	if !m.NamedClients(asked) {
		t.Fatal("no name")
	}
	back := stateWith(formed, members(3), managed, with(0, checksClients), with(1, checksClients), with(2, checksClients))
	delete(m.HandedOut, "client")
	delete(m.HandedOut, state.OperatorUsage)
	m = write(t, m, back)
	s := judged(m, back)
	if s.Certificates.ClientsLackName {
		for i := range s.Members {
			x := &s.Members[i]
			x.SecurePeer, x.SecureClient = true, true
			x.Loaded, x.Trust = s.Certificates.Loaded, s.Certificates.Trust
			x.UnreadySince = time.Time{}
			x.Serving, x.Answers, x.PodReady, x.InService, x.SilentSince = false, false, true, true, s.Now.Add(-time.Hour)
		}
		noQuorum(&s)
		step, rule := Choose(s)
		t.Errorf("the Secrets of clients and of the operator lack the name that all members check. Rule %s: %T %s", rule, step, steps.Describe(s, step).Message)
	}
}

// Members check the name. The issuer issues the renewed certificates of clients without it, because its policy or role drops names.
func TestNoCertificateIsHandedOutWithoutTheNameThatMembersCheck(t *testing.T) {
	asked := stateWith(formed, members(3), fromCertManager, ofCluster, with(0, checksClients), with(1, checksClients), with(2, checksClients))
	shop := newShop(t, asked.Now)
	m := material.Material{HandedOut: map[string]*material.Secret{}, Issued: map[string]*material.Secret{}}
	for _, u := range state.Usages {
		m.Issued[u.Name] = shop.issue(asked, u)
	}
	m = write(t, m, asked)
	plain := stateWith(formed, members(3), fromCertManager)
	for _, name := range []string{"client", state.OperatorUsage} {
		m.Issued[name] = shop.issue(plain, usage(name))
	}
	if c := judged(m, asked).Certificates; c.UnissuedReason != v1beta2.ReasonCertificateLacksName || c.Due != "" {
		t.Errorf("the certificates of the issuer are not reported: %+v", c)
	}
	m = write(t, m, asked)
	if s := judged(m, asked); s.Certificates.ClientsLackName {
		t.Error("the valid certificates with the name are replaced by certificates that all members refuse, also that of the operator")
	}
}
