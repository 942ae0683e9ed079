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
			after, err := w.m.NewUserSecret(w.s, "shop")
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Equal(after.Data[material.IssuedCertKey], before) != test.kept {
				t.Errorf("the certificate is kept: %t, want %t", !test.kept, test.kept)
			}
		})
	}
}
