package plan

import (
	"bytes"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// A client with the certificate of a user was refused, or refused the members, while the CA was replaced.
func TestAUserIsTrustedThroughARotation(t *testing.T) {
	for seed := range seeds {
		w := newRotation(t, seed, managedFor(time.Hour))
		w.certify()
		for range 2 {
			w.m.Rotate += "now"
			w.settle()
		}
		w.report()
		if leaf, err := pki.ParseCertificate(w.m.Users["shop"].Get("tls.crt")); err != nil || leaf.Subject.CommonName != "shop" || w.user.server == nil {
			t.Errorf("seed %d: the certificate of the user: %v", seed, err)
		}
	}
}

// The certificate of a user ran out, or its CA was dropped, because the rule that writes it was forgotten.
func TestThePlantedBugsOfUserCertificates(t *testing.T) {
	for seed := range seeds {
		w := newRotation(t, seed, managedFor(time.Hour))
		w.certify()
		w.plan = PlanWith(Instead("certifyUsers", func(state.State) steps.Step { return nil }))
		w.m.Rotate = "now"
		if w.settle(); w.wrong != "" {
			return
		}
	}
	t.Error("nothing was found")
}

// A Secret of a user that lacked a key, or whose addresses were old, stayed so. And one that was right was written in each pass.
func TestASecretOfAUserIsWrittenIfItIsDue(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*rotation)
		due    bool
		kept   bool
	}{
		"nothing":           {func(*rotation) {}, false, true},
		"a key of a person": {func(w *rotation) { w.m.Users["shop"].Data["more"] = []byte("x") }, false, true},
		"no endpoints":      {func(w *rotation) { delete(w.m.Users["shop"].Data, "endpoints") }, true, true},
		"another CA in tls": {func(w *rotation) { w.m.Users["shop"].Data["ca.crt"] = []byte("x") }, true, true},
		"another certificate": {func(w *rotation) {
			w.m.Users["shop"].Data["etcd-client.crt"] = w.m.HandedOut["client"].Get(v1beta2.ClientCertKey)
		}, true, false},
		"a renewal":             {func(w *rotation) { w.s.Now = w.s.Now.Add(61 * 24 * time.Hour) }, true, false},
		"an expired one":        {func(w *rotation) { w.s.Now = w.s.Now.Add(91 * 24 * time.Hour) }, true, false},
		"no certificate at all": {func(w *rotation) { w.m.Users["shop"] = nil }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRotation(t, 1, managedFor(time.Hour))
			w.certify()
			before := w.m.Users["shop"].Get("tls.crt")
			test.change(w)
			w.judge()
			step := certificates.CertifyUsers(w.s)
			if (step != nil) != test.due {
				t.Fatalf("the rule returns %+v", step)
			}
			after, err := material.NewUserSecret(w.m, w.s, "shop", steps.WriteUserCertificates{})
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Equal(after.Data[material.IssuedCertKey], before) != test.kept {
				t.Errorf("the certificate is kept: %t, want %t", !test.kept, test.kept)
			}
		})
	}
}

// The clocks differed for two months. A certificate of a user expired, although those of the cluster were newer and the status said that certificates are renewed
// when half of renewBefore is left.
func TestACertificateOfAUserIsRenewedBeforeItExpiresAlsoIfTheClocksDiffer(t *testing.T) {
	w := newRotation(t, 1, managedFor(time.Hour))
	w.certify()
	shop := w.m.Users["shop"]
	w.s.Now = w.s.Now.Add(40 * 24 * time.Hour)
	for name := range w.m.HandedOut { // the certificates of the cluster are new
		w.m.HandedOut[name].Data = map[string][]byte{}
	}
	w.judge()
	w.act(certificates.RenewCertificates(w.s))
	w.m.Users["shop"] = shop
	w.s.ServerAhead = 10 * time.Minute
	for days, due := range map[int]bool{25: false, 40: true} { // of 90 days, 65 and 80 are over
		early := *w
		early.s.Now = w.s.Now.Add(time.Duration(days) * 24 * time.Hour)
		early.judge()
		if step := certificates.CertifyUsers(early.s); (step != nil) != due {
			t.Errorf("after %d days: %+v", days+40, step)
		}
	}
}

// A workload that was bound to the cluster got what another owner keeps in the Secret, such as the certificate of clients of cluster example-shop.
func TestABindingNamesNoSecretOfAnotherOwner(t *testing.T) {
	w := newRotation(t, 1, managedFor(time.Hour))
	w.certify()
	if binding := certificates.Binding(w.s); binding == nil || binding.Name != "example-shop-tls" {
		t.Fatalf("the binding is %v", binding)
	}
	w.s.UserCertificates.Taken = []string{"Secret example-shop-tls"}
	if binding := certificates.Binding(w.s); binding != nil {
		t.Errorf("the binding is %v", binding)
	}
}

// Somebody deleted the Secret of the CA. The operator created another CA, and added it to the Secrets of clients a day before members showed certificates of it. Those of
// users got it only afterwards, so that each client with the certificate of a user refused the members until it had loaded its Secret.
func TestAUserIsTrustedWhileALostCAIsReplaced(t *testing.T) {
	for seed := range seeds {
		w := newRotation(t, seed, managedFor(time.Hour))
		w.certify()
		w.m.CA = nil
		w.settle()
		w.report()
		if w.user.server == nil {
			t.Errorf("seed %d: the user trusts nothing", seed)
		}
	}
}
