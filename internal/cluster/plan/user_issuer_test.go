package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

func (w *rotation) issuedBy(signer *pki.CA, user string, authorities []byte) *material.Secret {
	pair, err := signer.Issue(state.UserRequest(w.s, user), w.s.Now, 1000*time.Hour)
	if err != nil {
		w.Fatal(err)
	}
	return &material.Secret{Data: map[string][]byte{material.IssuedCertKey: pair.Cert, material.IssuedKeyKey: pair.Key, material.IssuedCAKey: authorities}}
}

// The issuer wrote a ca.crt that had not signed the certificate, or whose CA had expired. The user got the certificate, and all members refused it.
func TestAUserGetsNoCertificateThatItsOwnCAsDoNotAccept(t *testing.T) {
	for name, authorities := range map[string]func(w *rotation) (*pki.CA, []byte){
		"another CA": func(w *rotation) (*pki.CA, []byte) {
			other, err := pki.NewCA("other", w.s.Now, 10000*time.Hour)
			if err != nil {
				w.Fatal(err)
			}
			return other, w.issuer.Cert
		},
		"an expired CA": func(w *rotation) (*pki.CA, []byte) {
			old, err := pki.NewCA("old", w.s.Now.Add(-2000*time.Hour), 1000*time.Hour)
			if err != nil {
				w.Fatal(err)
			}
			return old, old.Cert
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRotation(t, 1, issuedFor(time.Hour))
			w.certify()
			signer, cas := authorities(w)
			w.m.UsersIssued["shop"] = w.issuedBy(signer, "shop", cas)
			if why := material.UnfitForUser(w.m, w.s, "shop"); why == "" && len(w.m.UsersIssued["shop"].Get("tls.crt")) > 0 {
				t.Error("the status says nothing about it")
			}
			w.settle()
			w.look()
			w.check()
			w.report()
		})
	}
}

// The issuer wrote other CAs for each user. Members and clients were given all of them, more than the operator reads. From then on it did nothing for the
// cluster.
func TestTheCAsOfUsersNeverMakeTheSecretsOfTheClusterUnreadable(t *testing.T) {
	w := newRotation(t, 1, issuedFor(time.Hour))
	w.certify()
	w.s.Spec.Auth.Users = nil
	for n := range 6 {
		user := fmt.Sprintf("user-%d", n)
		w.s.Spec.Auth.Users = append(w.s.Spec.Auth.Users, v1beta2.AuthUser{Name: user, Certificate: &v1beta2.AuthCertificate{}})
		var authorities pki.Bundle
		for i := range 40 {
			other, err := pki.NewCA(fmt.Sprintf("ca %d %d", n, i), w.s.Now, 10000*time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			authorities = authorities.With(pki.Bundle{other.Certificate()})
		}
		w.m.UsersIssued[user] = w.issuedBy(w.issuer, user, append(authorities.PEM(), w.issuer.Cert...))
		if material.UnfitForUser(w.m, w.s, user) != "" { // as observe does
			delete(w.m.UsersIssued, user)
		}
	}
	w.judge()
	for _, u := range state.Usages {
		after, err := w.m.NewSecret(w.s, u, steps.WriteCertificates{})
		if err != nil {
			t.Fatal(err)
		}
		w.m.HandedOut[u.Name] = after
	}
	if problem := w.m.TooMany(w.s); problem != "" {
		t.Error(problem)
	}
	if len(w.m.UsersIssued) < 2 {
		t.Errorf("only %d users get a certificate", len(w.m.UsersIssued))
	}
}

// A hundred users renewed their certificates at times of their own, one in each 14 hours. The old CA was to be removed a day after the last of them, so
// members trusted it for good.
func TestRenewalsOfUsersDoNotPutOffTheEndOfAnOldCA(t *testing.T) {
	w := newRotation(t, 1, issuedFor(24*time.Hour))
	w.certify()
	w.newIssuer()
	w.issue("peer", "server", "client", "operator")
	w.issueUser()
	for minutes := 0; minutes < 100*60; minutes += 10 {
		w.judge()
		w.act(w.plan(w.s))
		w.check()
		w.tick(10)
		if minutes%(14*60) == 0 {
			w.issueUser()
		}
	}
	w.report()
	if bundle := material.Bundle(w.m); len(bundle) != 1 {
		t.Errorf("after %s members trust %d CAs", w.s.Now.Sub(noon), len(bundle))
	}
}

// The clock of the operator was a day behind when a user got a certificate of the new CA, or others the new CA. When it was right again, the time that
// clients have was over.
func TestAClockThatIsBehindTakesNoTimeFromClients(t *testing.T) {
	users, others := newRotation(t, 1, issuedFor(time.Hour)), newRotation(t, 1, managedFor(time.Hour))
	for _, w := range []*rotation{users, others} {
		w.certify()
		w.s.Now = w.s.Now.Add(24 * time.Hour)
		right := w.s.Now
		w.s.Now, w.s.ServerAhead = right.Add(-24*time.Hour), 24*time.Hour
		if w == users {
			w.newIssuer()
			w.issueUser()
			w.s.UserCertificates.Due, w.s.UserCertificates.Outdated = material.JudgeUsers(w.m, w.s)
			w.act(steps.WriteUserCertificates{Switch: true})
		} else {
			w.act(steps.HandOutCA{})
		}
		w.s.Now, w.s.ServerAhead = right, 0
		w.judge()
		if end := w.s.Certificates.DropAfter; end.Before(right.Add(time.Hour)) {
			t.Errorf("users %t: the old CA is removed after %s, it is %s", w == users, end, right)
		}
	}
}
