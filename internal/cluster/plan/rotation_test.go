package plan

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// seeds is the number of random runs of a test.
const seeds uint64 = 12

// rotation simulates Secrets, members and one client with real certificates, and carries out the steps of the plan. A
// member trusts the CAs that its Secret had when it started, and shows the certificates that the kubelet wrote last.
type rotation struct {
	*testing.T
	r       *rand.Rand
	s       state.State
	m       material.Material
	members []*loaded
	client  loaded // trusts and shows what the client's Secret held when it looked last
	// issuer of cert-manager; nil if the cluster has its own CA.
	issuer *pki.CA
	// crash is the number of writes until the operator is killed; -1 for never.
	crash int
	plan  func(state.State) steps.Step
	wrong string
	story []string
	// lookIn is the number of minutes until the client reads its Secret again.
	lookIn int
	// user is a client with the certificate of a user of spec.auth, if there is one.
	user *loaded
	// other is a client whose certificate another program signs with tls.crt and tls.key of the CA's Secret, if there is one.
	other    *loaded
	verdicts map[string]verdict
}

// loaded is what a process has read: CAs at its start, and certificates later.
type loaded struct {
	trusts, peerTrusts pki.Bundle
	server, peer       []byte
	down               int
}

func newRotation(t *testing.T, seed uint64, tls *v1beta2.TLSPolicy) *rotation {
	w := &rotation{T: t, r: rand.New(rand.NewPCG(seed, 1)), crash: -1, plan: Plan, m: material.Material{HandedOut: map[string]*material.Secret{}}, verdicts: map[string]verdict{}}
	w.s = stateWith(formed, members(3))
	w.s.Spec.TLS = tls
	if tls.CertManager != nil {
		w.newIssuer()
		w.issue("peer", "server", "client", "operator")
	}
	for range w.s.Members {
		w.members = append(w.members, &loaded{})
	}
	for range 3 { // the Secrets of a new cluster, before it has members
		w.judge()
		w.act(certificates.IssueCertificates(w.s))
	}
	w.judge()
	if step := certificates.IssueCertificates(w.s); step != nil {
		t.Fatalf("the first certificates need %#v", step)
	}
	for i := range w.members {
		w.start(i)
	}
	w.look()
	return w
}

func (w *rotation) newIssuer() {
	authority, err := pki.NewCA("issuer", w.s.Now, 10000*time.Hour)
	if err != nil {
		w.Fatal(err)
	}
	w.issuer = authority
}

// issue renews certificates as cert-manager does.
func (w *rotation) issue(names ...string) {
	if w.m.Issued == nil {
		w.m.Issued = map[string]*material.Secret{}
	}
	for _, u := range state.Usages {
		if !strings.Contains(strings.Join(names, " "), u.Name) {
			continue
		}
		pair, err := w.issuer.Issue(state.CertificateRequest(w.s, u), w.s.Now, 1000*time.Hour)
		if err != nil {
			w.Fatal(err)
		}
		w.m.Issued[u.Name] = &material.Secret{Data: map[string][]byte{material.IssuedCertKey: pair.Cert, material.IssuedKeyKey: pair.Key, material.IssuedCAKey: w.issuer.Cert}}
	}
}

// issueUser renews the certificate of the user as cert-manager does.
func (w *rotation) issueUser() {
	pair, err := w.issuer.Issue(state.UserRequest(w.s, "shop"), w.s.Now, 1000*time.Hour)
	if err != nil {
		w.Fatal(err)
	}
	w.m.UsersIssued = map[string]*material.Secret{"shop": {Data: map[string][]byte{material.IssuedCertKey: pair.Cert, material.IssuedKeyKey: pair.Key, material.IssuedCAKey: w.issuer.Cert}}}
}

// judge updates the state as observe does.
func (w *rotation) judge() {
	w.s.Certificates = w.m.Judge(w.s, state.Certificates{Requested: true})
	w.s.UserCertificates.Urgent = material.UsersUrgent(w.m, w.s)
	w.s.UserCertificates.Due, w.s.UserCertificates.Outdated = material.JudgeUsers(w.m, w.s)
	w.s.MembershipKnown = w.r.IntN(4) > 0 // else no member answers in time
	for i := range w.s.Members {
		m, l := &w.s.Members[i], w.members[i]
		m.SecurePeer, m.SecureClient = true, true
		m.Serving, m.PodReady, m.Pod = l.down == 0 && w.s.MembershipKnown, l.down == 0, state.PodRunning
		m.UnreadySince = time.Time{}
		if l.down > 0 {
			m.Pod, m.UnreadySince = state.PodStarting, w.s.Now.Add(-time.Second)
		}
		m.ShowsNew = l.down == 0 && bytes.Equal(l.server, w.m.HandedOut["server"].Get(v1beta2.ServerCertKey)) &&
			bytes.Equal(l.peer, w.m.HandedOut["peer"].Get(v1beta2.PeerCertKey))
	}
}

// start starts a member, which reads all its files.
func (w *rotation) start(i int) {
	l := w.members[i]
	l.trusts = pki.ParseBundle(w.m.HandedOut["server"].Get(v1beta2.ServerCAKey))
	l.peerTrusts = pki.ParseBundle(w.m.HandedOut["peer"].Get(v1beta2.PeerCAKey))
	w.s.Members[i].Trust, w.s.Members[i].Loaded = w.s.Certificates.Trust, w.s.Certificates.Loaded
	w.load(i)
}

// load gives a member the present certificates, as its kubelet does.
func (w *rotation) load(i int) {
	w.members[i].server = w.m.HandedOut["server"].Get(v1beta2.ServerCertKey)
	w.members[i].peer = w.m.HandedOut["peer"].Get(v1beta2.PeerCertKey)
}

// look lets the client read its Secret.
func (w *rotation) look() {
	held := w.m.HandedOut["client"]
	w.client = loaded{trusts: pki.ParseBundle(held.Get(v1beta2.ClientCAKey)), server: held.Get(v1beta2.ClientCertKey)}
	if w.other != nil {
		w.sign()
	}
	if w.user != nil {
		w.user.trusts, w.user.server = pki.ParseBundle(w.m.Users["shop"].Get(material.IssuedCAKey)), w.m.Users["shop"].Get(material.IssuedCertKey)
	}
}

// sign lets another program sign the certificate of a client, as the CA issuer of cert-manager does. The client trusts what that of the cluster trusts.
func (w *rotation) sign() {
	authority, err := pki.ParseCA(pki.Pair{Cert: w.m.CA.Get(material.IssuedCertKey), Key: w.m.CA.Get(material.IssuedKeyKey)})
	if err != nil {
		w.Fatal(err)
	}
	pair, err := authority.Issue(pki.Request{CommonName: "tenant", Client: true}, w.s.Now, 1000*time.Hour)
	if err != nil {
		w.Fatal(err)
	}
	w.other.server = pair.Cert
}

// certify gives the cluster a user with a certificate.
func (w *rotation) certify() {
	w.s.Spec.Auth = &v1beta2.AuthPolicy{Users: []v1beta2.AuthUser{{Name: "shop", Certificate: &v1beta2.AuthCertificate{}}}}
	if w.issuer != nil {
		w.issueUser()
	}
	w.judge()
	w.act(certificates.CertifyUsers(w.s))
	w.user = &loaded{}
	w.look()
}

// writeUsers writes the certificates of users that are due.
func (w *rotation) writeUsers(step steps.WriteUserCertificates) {
	users, all := map[string]*material.Secret{}, w.s.UserCertificates.Due
	if step.Switch {
		all = append(all, w.s.UserCertificates.Outdated...)
	}
	for _, due := range all {
		after, err := material.NewUserSecret(w.m, w.s, due.User, step)
		if err != nil {
			w.Fatal(err)
		}
		users[due.User] = after
	}
	w.m.Users = users
}

// act carries out a step as the operator does, or a part of it if the operator is killed.
func (w *rotation) act(step steps.Step) {
	switch step := step.(type) {
	case steps.CreateCA, steps.ReplaceCA:
		authority, err := material.NewCA(w.s)
		if err != nil {
			w.Fatal(err)
		}
		after := &material.Secret{Data: w.m.NewAuthority(authority), Annotations: map[string]string{v1beta2.AnnotationRotateCA: w.m.Rotate}}
		if w.m.CA != nil {
			after.Data = w.m.WithNewCA(w.s, authority)
		}
		w.m.CA = after
	case steps.RemovePreviousCA:
		delete(w.m.CA.Data, material.PreviousCACertKey)
		delete(w.m.CA.Data, material.PreviousCAKeyKey)
	case steps.HandOutCA:
		w.m.CA = w.m.CompletedCA(w.s)
	case steps.WriteCertificates:
		read := w.m
		read.HandedOut = maps.Clone(w.m.HandedOut)
		for _, u := range state.Usages {
			after, err := read.NewSecret(w.s, u, step)
			if err != nil {
				w.Fatal(err)
			}
			if w.crash == 0 {
				w.crash = -1
				return
			}
			if w.crash > 0 {
				w.crash--
			}
			if after != nil {
				w.m.HandedOut[u.Name] = after
			}
		}
	case steps.WriteUserCertificates:
		w.writeUsers(step)
	case steps.LoadCertificates:
		for i := range w.s.Members {
			if w.s.Members[i].Name == step.Name {
				w.s.Members[i].Loaded = step.Loaded
			}
		}
	case steps.MoveLeader:
		for i := range w.s.Members {
			w.s.Members[i].Leader = w.s.Members[i].ID == step.To
		}
	case steps.DeletePod:
		for i, l := range w.members {
			if l.down > 0 && w.wrong == "" {
				w.wrong = fmt.Sprintf("%s is stopped while %s is down\n%s", step.Name, w.s.Members[i].Name, strings.Join(w.story, "\n"))
			}
		}
		for i := range w.s.Members {
			if w.s.Members[i].Name == step.Name {
				w.start(i)
				w.members[i].down = 1 + w.r.IntN(2)
			}
		}
	}
}

// tick advances the time: members start to serve, and kubelets write certificates.
func (w *rotation) tick(minutes int) {
	w.s.Now = w.s.Now.Add(time.Duration(minutes) * time.Minute)
	for i, l := range w.members {
		l.down = max(0, l.down-1)
		if w.r.IntN(3) == 0 {
			w.load(i)
		}
	}
	if w.lookIn -= minutes; w.lookIn < 0 {
		w.look()
		w.lookIn = w.r.IntN(50) // within the overlap, which is an hour
	}
	w.check()
}

// check verifies that the running members, the client and the operator trust each other's certificates, and that a program which signs clients with the
// first CA of what they trust can do so.
func (w *rotation) check() {
	if first := pki.ParseBundle(w.m.HandedOut["client"].Get(v1beta2.ClientCAKey)); len(first) > 0 {
		w.trusted("the first CA of clients signs them", first[:1], w.m.HandedOut["client"].Get(v1beta2.ClientCertKey))
	}
	for i, l := range w.members {
		if l.down > 0 {
			continue
		}
		w.trusted(fmt.Sprintf("the client trusts member %d", i), w.client.trusts, l.server)
		w.trusted(fmt.Sprintf("member %d trusts the client", i), l.trusts, w.client.server)
		if w.user != nil {
			w.trusted(fmt.Sprintf("the user trusts member %d", i), w.user.trusts, l.server)
			w.trusted(fmt.Sprintf("member %d trusts the user", i), l.trusts, w.user.server)
		}
		if w.other != nil {
			w.trusted(fmt.Sprintf("member %d trusts a client of another program", i), l.trusts, w.other.server)
		}
		w.trusted(fmt.Sprintf("member %d trusts the operator", i), l.trusts, w.m.Operator(w.s).Get(v1beta2.ClientCertKey))
		w.trusted(fmt.Sprintf("the operator trusts member %d", i), pki.ParseBundle(w.m.Operator(w.s).Get(v1beta2.ClientCAKey)), l.server)
		for j, other := range w.members {
			if other.down == 0 {
				w.trusted(fmt.Sprintf("member %d trusts member %d", i, j), l.peerTrusts, other.peer)
			}
		}
	}
}

func (w *rotation) trusted(what string, trusts pki.Bundle, cert []byte) {
	key := pki.Fingerprint(trusts.PEM(), cert)
	verdict, known := w.verdicts[key]
	if !known {
		verdict = verify(trusts, cert)
		w.verdicts[key] = verdict
	}
	err := verdict.err
	if err == nil && w.s.Now.After(verdict.end) {
		err = errors.New("it ran out")
	}
	if err != nil && w.wrong == "" {
		w.wrong = fmt.Sprintf("it is not so that %s: %v\n%s", what, err, strings.Join(w.story, "\n"))
	}
}

// verdict is the result of a verification, whatever the time, and the end of the certificate.
type verdict struct {
	err error
	end time.Time
}

func verify(trusts pki.Bundle, cert []byte) verdict {
	leaf, err := pki.ParseCertificate(cert)
	if err != nil {
		return verdict{err: err}
	}
	roots := x509.NewCertPool()
	for _, authority := range trusts {
		roots.AddCert(authority)
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: leaf.NotAfter, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return verdict{err, leaf.NotAfter}
}

// settle carries out the plan until it is done and no old CA or certificate is left.
func (w *rotation) settle() {
	for range 1000 {
		w.judge()
		c := w.s.Certificates
		step := w.plan(w.s)
		w.story = append(w.story, fmt.Sprintf("%s %#v", w.s.Now.Format(time.TimeOnly), step))
		if step == (steps.Done{}) && !c.Outdated && !c.Superseded && !c.CA.Previous {
			return
		}
		w.act(step)
		w.check()
		if step == (steps.Done{}) {
			w.tick(9)
		} else {
			w.tick(1)
		}
		if w.wrong != "" {
			return
		}
	}
	w.wrong = "it never ends:\n" + strings.Join(w.story[len(w.story)-20:], "\n")
}

func (w *rotation) report() {
	w.Helper()
	if w.wrong != "" {
		w.Fatal(w.wrong)
	}
}

func managedFor(overlap time.Duration) *v1beta2.TLSPolicy {
	return &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{CAOverlap: &metav1.Duration{Duration: overlap}}}
}

// TestARotationNeverShowsACertificateThatSomebodyDoesNotTrust replaces the CA. The operator is killed before random writes,
// kubelets and clients read at random times, and members start slowly.
func TestARotationNeverShowsACertificateThatSomebodyDoesNotTrust(t *testing.T) {
	for seed := range seeds {
		t.Run(strconv.Itoa(int(seed)), func(t *testing.T) {
			w := newRotation(t, seed, managedFor(time.Hour))
			before := material.Wanted(w.m)
			for round := range 2 {
				w.crash = w.r.IntN(9)
				w.m.Rotate = strconv.Itoa(round)
				w.settle()
				w.report()
			}
			if bundle := material.Bundle(w.m); len(bundle) != 1 || bundle.Has(before) || !bundle.Has(material.Wanted(w.m)) {
				t.Errorf("%d authorities are left, the first among them: %v", len(bundle), bundle.Has(before))
			}
		})
	}
}

func TestARotationOfCertManagersIssuerNeverShowsACertificateThatSomebodyDoesNotTrust(t *testing.T) {
	for seed := range seeds {
		t.Run(strconv.Itoa(int(seed)), func(t *testing.T) {
			w := newRotation(t, seed, &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{CAOverlap: &metav1.Duration{Duration: time.Hour}}})
			w.crash = w.r.IntN(9)
			w.issue("peer", "server", "client", "operator") // an ordinary renewal
			w.settle()
			w.newIssuer()
			for _, name := range []string{"server", "client", "operator", "peer"} { // cert-manager renews one after the other
				w.issue(name)
				for range w.r.IntN(20) {
					w.judge()
					step := w.plan(w.s)
					w.story = append(w.story, fmt.Sprintf("%s issued; %#v", name, step))
					w.act(step)
					w.check()
					w.tick(1)
				}
			}
			w.settle()
			w.report()
			if bundle := material.Bundle(w.m); len(bundle) != 1 || !bundle.Has(material.Wanted(w.m)) {
				t.Errorf("%d authorities are left", len(bundle))
			}
		})
	}
}

// TestCertificatesOfYears runs twelve years of renewals, in which the CA is replaced once.
func TestCertificatesOfYears(t *testing.T) {
	w := newRotation(t, 1, managedFor(time.Hour))
	authorities := map[string]bool{}
	for range 12 * 52 {
		w.s.Now = w.s.Now.Add(7 * 24 * time.Hour)
		w.settle()
		w.report()
		w.look()
		for i := range w.members {
			w.load(i)
		}
		authorities[string(w.m.CA.Get(material.CACertKey))] = true
		for _, u := range state.Usages {
			leaf, err := w.m.Pair(u).Leaf()
			if err != nil || leaf.NotAfter.Sub(w.s.Now) < 20*24*time.Hour {
				t.Fatalf("%s: the certificate of %ss is good until %s (%v)", w.s.Now, u.Name, leaf.NotAfter, err)
			}
		}
	}
	if len(authorities) != 2 {
		t.Errorf("%d authorities in twelve years, want two", len(authorities))
	}
}

func TestALostAuthorityIsReplacedAndWhatItSignedStaysTrusted(t *testing.T) {
	w := newRotation(t, 1, managedFor(time.Hour))
	lost := material.Wanted(w.m)
	w.m.CA = nil
	w.settle()
	w.report()
	if bundle := material.Bundle(w.m); len(bundle) != 1 || bundle.Has(lost) {
		t.Errorf("%d authorities are left", len(bundle))
	}
}

// TestThePlantedBugsOfRotation shows that the checks above can fail.
func TestThePlantedBugsOfRotation(t *testing.T) {
	bugs := map[string]Change{
		"members are stopped whenever no quorum answers": Instead("restartForNewCA", func(s state.State) steps.Step {
			for _, m := range s.Members {
				if !s.MembershipKnown && state.TrustsOldCA(s, m) {
					return steps.DeletePod{Name: m.Name}
				}
			}
			return nil
		}),
		"members are not restarted for the new CA": Instead("rollMembers", func(state.State) steps.Step { return nil }),
		"certificates of the new CA are issued before all members trust it": Instead("waitUntilHealthy", func(s state.State) steps.Step {
			s.Certificates.SwitchAfter = time.Time{}
			return certificates.RotateCA(s)
		}),
		"the old CA is dropped while it is in use": Instead("rotateCA", func(s state.State) steps.Step {
			if s.Certificates.Superseded {
				return steps.WriteCertificates{Drop: true}
			}
			return certificates.RotateCA(s)
		}),
		"clients get no time to load the new CA": Instead("rotateCA", func(s state.State) steps.Step {
			s.Certificates.SwitchAfter, s.Certificates.DropAfter = time.Time{}, time.Time{}
			return certificates.RotateCA(s)
		}),
	}
	for name, bug := range bugs {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds {
				w := newRotation(t, seed, managedFor(time.Hour))
				w.plan = PlanWith(bug)
				w.m.Rotate = "now"
				w.settle()
				if w.wrong != "" {
					return
				}
			}
			t.Error("nothing was found")
		})
	}
}

// A restore waited for a password while a CA was replaced. The certificate of the operator was then one that the seed refuses, so the right
// password did not help any more.
func TestNoCAIsSwitchedWhileASeedTrustsTheOldOne(t *testing.T) {
	s := stateWith(formed, members(3), managed, restored(v1beta2.RestoreSeeding), asked, wrongPassword, certs(func(c *state.Certificates) { c.Trust, c.Outdated = "both", true }))
	for i := range s.Members {
		s.Members[i].SecurePeer, s.Members[i].SecureClient = true, true
		s.Members[i].Trust, s.Members[i].Loaded = "both", s.Certificates.Loaded
		if s.Members[i].Incarnation != s.Incarnation {
			s.Members[i].Trust = "old"
		}
	}
	step, _ := Choose(s)
	if w, is := step.(steps.WriteCertificates); is && w.Switch {
		t.Errorf("members and the operator get certificates of a CA that the seed does not trust")
	}
}
