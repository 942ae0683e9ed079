package plan

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
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

func issuedFor(overlap time.Duration) *v1beta2.TLSPolicy {
	return &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{CAOverlap: &metav1.Duration{Duration: overlap}}}
}

// another has cert-manager renew the certificates of a cluster and of a user in a random order after the CA of the issuer has changed.
func (w *rotation) another() {
	w.newIssuer()
	names := []string{"server", "client", "operator", "peer", "shop"}
	w.r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		if name == "shop" {
			w.issueUser()
		} else {
			w.issue(name)
		}
		for range w.r.IntN(3) * 40 {
			w.judge()
			step := w.plan(w.s)
			w.story = append(w.story, fmt.Sprintf("%s %s issued; %#v", w.s.Now.Format(time.TimeOnly), name, step))
			w.act(step)
			w.check()
			w.tick(1)
		}
	}
	w.settle()
}

// cert-manager renewed the certificate of a user before or after those of members. The user was refused, or its CA was dropped.
func TestAUserOfCertManagerIsTrustedWhileTheIssuerChanges(t *testing.T) {
	for seed := range seeds {
		w := newRotation(t, seed, issuedFor(time.Hour))
		w.certify()
		w.another()
		w.report()
		user := w.m.Users["shop"]
		if leaf, err := pki.ParseCertificate(user.Get("tls.crt")); err != nil || leaf.Subject.CommonName != "shop" || !material.IssuedUserPair(w.m, "shop").Same(pki.Pair{Cert: user.Get("tls.crt"), Key: user.Get("tls.key")}) {
			t.Errorf("seed %d: the user does not have what cert-manager issued: %v", seed, err)
		}
		if bundle := material.Bundle(w.m); len(bundle) != 1 {
			t.Errorf("seed %d: %d CAs are left", seed, len(bundle))
		}
	}
}

func TestThePlantedBugsOfUsersOfCertManager(t *testing.T) {
	for name, plan := range map[string]func(w *rotation) func(state.State) steps.Step{
		"a user gets a certificate of a new CA at once": func(*rotation) func(state.State) steps.Step {
			return func(s state.State) steps.Step {
				if len(s.UserCertificates.Outdated) > 0 {
					return steps.WriteUserCertificates{Switch: true}
				}
				return Plan(s)
			}
		},
		"the CA of a user is dropped": func(w *rotation) func(state.State) steps.Step {
			return func(s state.State) steps.Step {
				users := w.m.Users
				defer func() { w.m.Users = users }()
				w.m.Users = nil
				s.Certificates = w.m.Judge(s, state.Certificates{Requested: true})
				step := Plan(s)
				if write, is := step.(steps.WriteCertificates); is && write.Drop {
					w.act(step)
					return steps.Done{}
				}
				return step
			}
		},
	} {
		found := false
		for seed := uint64(0); seed < seeds && !found; seed++ {
			w := newRotation(t, seed, issuedFor(time.Hour))
			w.certify()
			w.plan = plan(w)
			w.another()
			found = w.wrong != ""
		}
		if !found {
			t.Errorf("%s: nothing was found", name)
		}
	}
}

// A certificate that cert-manager issued for another name, or for servers only, reached the client of a user.
func TestAUserGetsOnlyACertificateOfItsOwn(t *testing.T) {
	for name, test := range map[string]struct {
		request pki.Request
		change  func(*state.State)
		why     string
	}{
		"its own":             {request: pki.Request{CommonName: "shop", Client: true}},
		"of another user":     {request: pki.Request{CommonName: "root", Client: true}, why: "common name"},
		"of a server":         {request: pki.Request{CommonName: "shop", Server: true}, why: "not for clients"},
		"without the name":    {request: pki.Request{CommonName: "shop", Client: true}, change: func(s *state.State) { s.Spec.TLS.AcceptClients = v1beta2.AcceptClientsOfCluster }, why: "lacks the DNS name"},
		"not valid yet":       {request: pki.Request{CommonName: "shop", Client: true}, change: func(s *state.State) { s.Now = s.Now.Add(-time.Hour) }, why: "not valid before"},
		"one that is expired": {request: pki.Request{CommonName: "shop", Client: true}, change: func(s *state.State) { s.Now = s.Now.Add(2000 * time.Hour) }, why: "expired"},
	} {
		w := newRotation(t, 1, issuedFor(time.Hour))
		w.certify()
		before := w.m.Users["shop"]
		pair, err := w.issuer.Issue(test.request, w.s.Now, 1000*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		w.m.UsersIssued["shop"].Data = map[string][]byte{material.IssuedCertKey: pair.Cert, material.IssuedKeyKey: pair.Key, material.IssuedCAKey: w.issuer.Cert}
		if test.change != nil {
			test.change(&w.s)
		}
		if why := material.UnfitForUser(w.m, w.s, "shop"); !strings.Contains(why, test.why) || (why == "") != (test.why == "") {
			t.Errorf("%s: it is refused because %q", name, why)
		}
		w.s.UserCertificates.Due, _ = material.JudgeUsers(w.m, w.s)
		if due := len(w.s.UserCertificates.Due) > 0; due != (test.why == "") {
			t.Errorf("%s: it is handed out: %v", name, w.s.UserCertificates.Due)
		}
		after, err := material.NewUserSecret(w.m, w.s, "shop", steps.WriteUserCertificates{Switch: true})
		if err != nil {
			t.Fatal(err)
		}
		if kept := string(after.Get("tls.crt")) == string(before.Get("tls.crt")); kept != (test.why != "") {
			t.Errorf("%s: the certificate before is kept: %t", name, kept)
		}
	}
}

// A Certificate was requested before the status named it, or one of a user that had left the spec remained.
func TestCertificatesOfUsersAreRequestedAndWithdrawn(t *testing.T) {
	certified := func(s *state.State) {
		s.Spec.TLS = issuedFor(time.Hour)
		s.Spec.Auth = &v1beta2.AuthPolicy{Users: []v1beta2.AuthUser{{Name: "shop", Certificate: &v1beta2.AuthCertificate{}}, {Name: "plain"}}}
	}
	for name, test := range map[string]struct {
		change change
		want   steps.Step
		status []string
	}{
		"nothing is missing": {func(*state.State) {}, nil, []string{"shop"}},
		"one is missing":     {func(s *state.State) { s.UserCertificates.Requests = []string{"shop"} }, steps.AnnounceUserCertificates{Users: 1}, []string{"shop"}},
		"it is recorded": {func(s *state.State) {
			s.UserCertificates.Requests, s.RequestedUsers = []string{"shop"}, []string{"shop"}
		},
			steps.RequestUserCertificates{What: "user shop"}, []string{"shop"}},
		"the issuer is not allowed": {func(s *state.State) {
			s.UserCertificates.Requests, s.RequestedUsers = []string{"shop"}, []string{"shop"}
			s.Certificates.IssuerRefused = "no"
		}, nil, []string{"shop"}},
		"a user has left": {func(s *state.State) {
			s.UserCertificates.Left, s.RequestedUsers = []string{"old"}, []string{"old", "shop"}
		},
			steps.WithdrawUserCertificates{What: "user old"}, []string{"old", "shop"}},
		"its Certificate is gone": {func(s *state.State) {
			s.UserCertificates.Gone, s.RequestedUsers = []string{"old"}, []string{"old", "shop"}
		}, nil, []string{"shop"}},
		"its Certificate is unknown": {func(s *state.State) { s.RequestedUsers = []string{"old", "shop"} }, nil, []string{"old", "shop"}},
		"a Secret is of another":     {func(s *state.State) { s.UserCertificates.Requests, s.Certificates.Foreign = []string{"shop"}, "no" }, nil, []string{"shop"}},
		"with managed there is none": {func(s *state.State) {
			s.Spec.TLS, s.UserCertificates.Requests = managedFor(time.Hour), []string{"shop"}
		}, nil, nil},
	} {
		s := stateWith(formed, members(3), certified, test.change)
		if step := certificates.RequestUsers(s); step != test.want {
			t.Errorf("%s: the step is %#v", name, step)
		}
		if got := certificates.RequestedUsers(s); !slices.Equal(got, test.status) {
			t.Errorf("%s: the status names %v", name, got)
		}
	}
}

// A user got no certificate, and the status did not say why.
func TestTheStatusSaysWhyAUserOfCertManagerHasNone(t *testing.T) {
	for reason, u := range map[string]state.UserCertificates{
		v1beta2.ReasonCertificateNotReady: {Unissued: []string{"Certificate example-shop is not used: it has expired."}},
		v1beta2.ReasonNotOurs:             {Taken: []string{"Certificate example-shop"}},
		v1beta2.ReasonIssuerNotAllowed:    {Requests: []string{"shop"}},
	} {
		s := stateWith(formed, members(3), func(s *state.State) { s.Spec.TLS, s.UserCertificates = issuedFor(time.Hour), u })
		if reason == v1beta2.ReasonIssuerNotAllowed {
			s.Certificates.IssuerRefused = "The issuer is not allowed."
		}
		if said, is := certificates.UncertifiedUsers(s).(steps.Wait); !is || said.Reason != reason || !strings.Contains(said.Message, "shop") {
			t.Errorf("%s: the status says %+v", reason, said)
		}
	}
}

// An old CA is removed some time after users got certificates of the next one. A renewal by the same CA must not begin that time again, or the old CA would be
// trusted without an end.
func TestARenewalByTheSameCADoesNotDelayTheEndOfAnOldOne(t *testing.T) {
	const since = v1beta2.Group + "/certificate-since"
	w := newRotation(t, 1, issuedFor(time.Hour))
	w.certify()
	held := w.m.Users["shop"].Annotations[since]
	w.s.Now = w.s.Now.Add(time.Minute)
	w.issueUser()
	after, err := material.NewUserSecret(w.m, w.s, "shop", steps.WriteUserCertificates{})
	if err != nil {
		t.Fatal(err)
	}
	if held == "" || after.Annotations[since] != held {
		t.Errorf("the certificate counts from %q, and before from %q", after.Annotations[since], held)
	}
	if bytes.Equal(after.Data["tls.crt"], w.m.Users["shop"].Data["tls.crt"]) {
		t.Error("the certificate was not renewed")
	}
}

// A user without a certificate and a CA that cannot sign: the operator must report that, and not hand out a Secret without a certificate.
func TestAUserGetsNoSecretWithoutACertificate(t *testing.T) {
	w := newRotation(t, 1, managedFor(time.Hour))
	w.certify()
	held := w.m.Users["shop"]
	delete(w.m.CA.Data, material.CAKeyKey)
	if after, err := material.NewUserSecret(w.m, w.s, "shop", steps.WriteUserCertificates{}); err != nil || !bytes.Equal(after.Data["tls.crt"], held.Data["tls.crt"]) {
		t.Errorf("a certificate that the user has is not kept: %v", err)
	}
	delete(w.m.Users, "shop")
	if after, err := material.NewUserSecret(w.m, w.s, "shop", steps.WriteUserCertificates{}); err == nil {
		t.Errorf("the Secret has the keys %v", slices.Sorted(maps.Keys(after.Data)))
	}
}

// An event says why the operator writes the Secret of a user.
func TestTheCauseOfACertificateOfAUserIsTheRightOne(t *testing.T) {
	w := newRotation(t, 1, issuedFor(time.Hour))
	w.certify()
	held := w.m.Users
	w.s.Now = w.s.Now.Add(time.Minute)
	w.issueUser()
	for cause, users := range map[string]map[string]*material.Secret{"it has none yet": nil, "cert-manager issued a new one": held} {
		w.m.Users = users
		if due, _ := material.JudgeUsers(w.m, w.s); len(due) != 1 || !strings.HasPrefix(due[0].Cause, cause) {
			t.Errorf("%+v, want %s", due, cause)
		}
	}
}
