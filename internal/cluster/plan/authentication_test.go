package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

func TestAnOperatorWithoutPermissionReportsWhatIsMissing(t *testing.T) {
	for name, test := range map[string]struct {
		s    state.State
		says []string
	}{
		"no user": {stateWith(formed, members(3), blind(etcd.RefusedUnknown)), []string{"it has no user", "Set spec.auth.operatorSecret"}},
		"a wrong password": {
			stateWith(formed, members(3), user, blind(etcd.RefusedPassword)), []string{"user keeper", "password in Secret login is wrong", "Correct Secret login"},
		},
		"a user without the role root": {
			stateWith(formed, members(3), user, with(1, deniedBy(etcd.RefusedRole))), []string{"user keeper of Secret login does not have the role root", "etcdctl user grant-role keeper root"},
		},
		"a Secret without a password": {
			stateWith(formed, members(3), blind(etcd.RefusedUnknown), func(s *state.State) {
				s.Spec.Auth = &v1beta2.AuthPolicy{OperatorSecret: "login"}
				s.Authentication.Problem = "Secret login needs the keys username and password."
			}), []string{"Secret login needs the keys", "Correct Secret login"},
		},
		"a certificate of a user without the role root": {
			stateWith(formed, members(3), withTLS, with(0, deniedBy(etcd.RefusedRole))), []string{"certificate in Secret operator-tls", "Give that user the role root"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			wait, waits := Plan(test.s).(steps.Wait)
			if !waits || wait.Reason != v1beta2.ReasonEtcdAccessDenied || !wait.Stalled {
				t.Fatalf("the step is %#v", Plan(test.s))
			}
			for _, words := range test.says {
				if !strings.Contains(wait.Message, words) {
					t.Errorf("the message lacks %q: %s", words, wait.Message)
				}
			}
		})
	}
}

func TestWhatNeedsNoPermissionOfEtcdIsDoneWithoutIt(t *testing.T) {
	planTests{
		"recreates a missing Pod": {
			stateWith(formed, members(3), with(0, deniedBy(etcd.RefusedUnknown)), with(1, withoutPod)), steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin},
		},
	}.run(t)
}

func TestAWrongAuthSecretIsReportedWhileAuthenticationIsOff(t *testing.T) {
	s := stateWith(formed, members(3), func(s *state.State) { s.Authentication.Problem = "Secret x is missing." })
	if wait, waits := Plan(s).(steps.Wait); !waits || wait.Reason != v1beta2.ReasonSecretMissing || !strings.Contains(wait.Message, "Secret x is missing.") {
		t.Errorf("the step is %#v", Plan(s))
	}
}

// The switch to such a seed could not be undone, and the operator could not add a member.
func TestClientsAreNotSwitchedToASeedThatRefusesTheOperator(t *testing.T) {
	s := stateWith(formed, members(3), user, restored(v1beta2.RestoreSeeding), asked, aSeed(serving, deniedBy(etcd.RefusedPassword)))
	wait, waits := Plan(s).(steps.Wait)
	if !waits || wait.Reason != v1beta2.ReasonEtcdAccessDenied || !strings.Contains(wait.Message, "the members continue to serve") {
		t.Errorf("the step is %#v", Plan(s))
	}
}

// earlier is a cluster of an earlier release, whose operator used the clients' certificate.
func earlier(t *testing.T, tls *v1beta2.TLSPolicy) *rotation {
	w := newRotation(t, 1, tls)
	w.s.ClientName = state.RootUser
	authority, err := material.Current(w.m)
	if w.issuer != nil {
		authority, err = w.issuer, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Issue(pki.Request{CommonName: state.RootUser, Client: true}, w.s.Now, 1000*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	w.m.HandedOut["client"].Data[v1beta2.ClientCertKey], w.m.HandedOut["client"].Data[v1beta2.ClientKeyKey] = pair.Cert, pair.Key
	delete(w.m.HandedOut, state.OperatorUsage)
	if w.issuer != nil {
		w.m.Issued["client"].Data[material.IssuedCertKey], w.m.Issued["client"].Data[material.IssuedKeyKey] = pair.Cert, pair.Key
		delete(w.m.Issued, state.OperatorUsage)
	}
	w.look()
	return w
}

func (w *rotation) commonName(usage string) string {
	w.Helper()
	leaf, err := pki.ParseCertificate(w.m.HandedOut[usage].Get(v1beta2.ClientCertKey))
	if err != nil {
		w.Fatalf("%s: %v", usage, err)
	}
	return leaf.Subject.CommonName
}

func TestTheOperatorOfAnEarlierReleasesClusterGetsACertificateAndClientsKeepRoot(t *testing.T) {
	w := earlier(t, managedFor(time.Hour))
	if own := w.m.Operator(w.s); own != w.m.HandedOut["client"] {
		t.Error("without a certificate of its own the operator does not use that of clients")
	}
	before := string(w.m.HandedOut["client"].Get(v1beta2.ClientCertKey))
	w.follow()
	if w.commonName(state.OperatorUsage) != state.RootUser || string(w.m.HandedOut["client"].Get(v1beta2.ClientCertKey)) != before {
		t.Errorf("the operator has %s, and the clients' certificate changed: %v", w.commonName(state.OperatorUsage), string(w.m.HandedOut["client"].Get(v1beta2.ClientCertKey)) != before)
	}
	w.s.Spec.TLS.Managed.ClientCommonName = "shop"
	w.follow()
	if got := w.commonName("client"); got != "shop" {
		t.Errorf("the clients' common name is %s, want shop", got)
	}
	w.report()
}

// follow sets what observe reads from the Secrets, and follows the plan until it is done. No member may be restarted for that.
func (w *rotation) follow() {
	w.Helper()
	w.s.ClientName = w.m.ClientName(w.s)
	w.settle()
	w.s.ClientName = w.m.ClientName(w.s)
	w.settle()
	for _, line := range w.story {
		if strings.Contains(line, "DeletePod") {
			w.Errorf("a member is restarted: %s", line)
		}
	}
}

func TestClientsOfANewClusterAreNotRoot(t *testing.T) {
	w := newRotation(t, 1, managedFor(time.Hour))
	if client, operator := w.commonName("client"), w.commonName(state.OperatorUsage); client != "client" || operator != state.RootUser {
		t.Errorf("the common names are %s for clients and %s for the operator", client, operator)
	}
}

// Until cert-manager issues the operator's certificate, the operator uses the clients' certificate.
func TestACertificateThatCertManagerHasNotIssuedForTheOperatorHoldsNothingUp(t *testing.T) {
	w := earlier(t, &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{ClientCommonName: "shop"}})
	w.follow()
	w.report()
	if w.s.Certificates.Missing || w.m.HandedOut[state.OperatorUsage] != nil || w.s.ClientName != state.RootUser {
		t.Errorf("missing %v, common name of clients %s", w.s.Certificates.Missing, w.s.ClientName)
	}
	w.issue(state.OperatorUsage)
	w.follow()
	w.report()
	if w.commonName(state.OperatorUsage) != state.RootUser || w.s.ClientName != "shop" {
		t.Errorf("the operator has %s, and clients ask for %s", w.commonName(state.OperatorUsage), w.s.ClientName)
	}
}
