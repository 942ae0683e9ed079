package plan

import (
	"bytes"
	"maps"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// A client whose certificate another program signed with tls.crt and tls.key of the CA's Secret was refused while the CA was replaced.
func TestMembersAcceptWhatOthersSignThroughARotation(t *testing.T) {
	for seed := range seeds {
		w := newRotation(t, seed, managedFor(time.Hour))
		w.other = &loaded{}
		w.look()
		first := w.m.CA.Get(material.IssuedCertKey)
		for range 2 {
			w.m.Rotate += "now"
			w.settle()
		}
		w.report()
		if now := w.m.CA.Get(material.IssuedCertKey); bytes.Equal(now, first) || !bytes.Equal(now, w.m.CA.Get(material.CACertKey)) {
			t.Errorf("seed %d: others sign with %.60q", seed, now)
		}
	}
}

func TestThePlantedBugsOfWhatOthersSign(t *testing.T) {
	for name, plant := range map[string]func(w *rotation){
		"others sign with the CA of before": func(w *rotation) {
			w.plan = PlanWith(Instead("handOutCA", func(state.State) steps.Step { return nil }))
		},
		"the new CA signs at once": func(w *rotation) {
			w.plan = func(s state.State) steps.Step {
				w.m.CA.Data[material.IssuedCertKey], w.m.CA.Data[material.IssuedKeyKey] = w.m.CA.Get(material.CACertKey), w.m.CA.Get(material.CAKeyKey)
				s.Certificates.CA.Incomplete = ""
				return Plan(s)
			}
		},
	} {
		found := false
		for seed := uint64(0); seed < seeds && !found; seed++ {
			w := newRotation(t, seed, managedFor(time.Hour))
			w.other = &loaded{}
			w.look()
			plant(w)
			w.m.Rotate = "now"
			w.settle()
			found = w.wrong != ""
		}
		if !found {
			t.Errorf("%s: nothing was found", name)
		}
	}
}

// A user reads why the operator writes the Secret of the CA.
func TestTheCauseNamesWhatTheSecretOfACALacks(t *testing.T) {
	for cause, change := range map[string]func(*rotation){
		"":                                  func(*rotation) {},
		"it has no tls.crt and tls.key yet": func(w *rotation) { delete(w.m.CA.Data, "tls.crt"); delete(w.m.CA.Data, "tls.key") },
		"another CA signs the certificates of clients now": func(w *rotation) { w.m.CA.Data["tls.key"] = []byte("x") },
		"no key is known of the CA that signed the certificate of clients": func(w *rotation) {
			authority, err := material.NewCA(w.s)
			if err != nil {
				w.Fatal(err)
			}
			w.m.CA.Data = (material.Material{}).NewAuthority(authority)
		},
	} {
		w := newRotation(t, 1, managedFor(time.Hour))
		change(w)
		if got := w.m.Judge(w.s, state.Certificates{}).CA.Incomplete; got != cause {
			t.Errorf("the cause is %q, want %q", got, cause)
		}
	}
}

// A clock was ahead when the operator replaced a CA, so the new CA is not valid yet. Certificates that are due must be issued by the CA from before, or clients lose
// access.
func TestACAFromBeforeSignsWhileTheNewOneIsNotValid(t *testing.T) {
	for name, test := range map[string]struct {
		change func(w *rotation, before *pki.CA)
		signs  bool
	}{
		"the current CA is valid": {func(*rotation, *pki.CA) {}, true},
		"the CA from before is valid": {func(w *rotation, before *pki.CA) {
			w.m.CA.Data[material.CACertKey], w.m.CA.Data[material.CAKeyKey] = w.laterCA()
			w.m.CA.Data[material.PreviousCACertKey], w.m.CA.Data[material.PreviousCAKeyKey] = before.Cert, before.Key
		}, true},
		"no CA is valid": {func(w *rotation, _ *pki.CA) {
			w.m.CA.Data[material.CACertKey], w.m.CA.Data[material.CAKeyKey] = w.laterCA()
		}, false},
	} {
		w := newRotation(t, 1, managedFor(time.Hour))
		before, err := material.Current(w.m)
		if err != nil {
			t.Fatal(err)
		}
		test.change(w, before)
		if invalid := w.m.Judge(w.s, state.Certificates{}).CA.Invalid; invalid == test.signs {
			t.Errorf("%s: the CA is invalid: %t", name, invalid)
		}
	}
}

// laterCA is a CA that is valid from tomorrow on.
func (w *rotation) laterCA() (cert, key []byte) {
	later, err := pki.NewCA("later", w.s.Now.Add(24*time.Hour), 10000*time.Hour)
	if err != nil {
		w.Fatal(err)
	}
	return later.Cert, later.Key
}

// The Secret of a CA that an earlier release made has no tls.crt. One from a backup has that of another CA.
func TestTheSecretOfACAIsCompleted(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*rotation)
		due    bool
		empty  bool
	}{
		"nothing":                     {func(*rotation) {}, false, false},
		"it is of an earlier release": {func(w *rotation) { delete(w.m.CA.Data, "tls.crt"); delete(w.m.CA.Data, "tls.key") }, true, false},
		"the key is missing":          {func(w *rotation) { delete(w.m.CA.Data, "tls.key") }, true, false},
		"the key is of another":       {func(w *rotation) { w.m.CA.Data["tls.key"] = []byte("x") }, true, false},
		"an older operator replaced the CA": {func(w *rotation) {
			authority, err := material.NewCA(w.s)
			if err != nil {
				w.Fatal(err)
			}
			w.m.CA.Data = w.m.WithNewCA(w.s, authority)
			delete(w.m.CA.Data, "tls.crt")
			delete(w.m.CA.Data, "tls.key")
		}, true, false},
		"it is from a backup of another CA, which no member trusts": {func(w *rotation) {
			authority, err := material.NewCA(w.s)
			if err != nil {
				w.Fatal(err)
			}
			w.m.CA.Data = (material.Material{}).NewAuthority(authority)
		}, true, true},
		"clients have no certificate": {func(w *rotation) { delete(w.m.HandedOut, "client"); w.m.CA.Data["tls.key"] = nil }, false, true},
		"the CA cannot be read":       {func(w *rotation) { w.m.CA.Data["ca.key"] = nil; delete(w.m.CA.Data, "tls.key") }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRotation(t, 1, managedFor(time.Hour))
			signer := w.m.CA.Get(material.CACertKey)
			w.m.CA.Data = maps.Clone(w.m.CA.Data)
			test.change(w)
			w.judge()
			if step := certificates.HandOutCA(w.s); (step != nil) != test.due {
				t.Fatalf("the rule returns %+v", step)
			}
			after := w.m.CompleteAuthority()
			if _, err := pki.ParseCA(pki.Pair{Cert: after["tls.crt"], Key: after["tls.key"]}); (err != nil) != test.empty {
				t.Errorf("others can sign: %v", err)
			} else if err == nil && !bytes.Equal(after["tls.crt"], signer) {
				t.Error("others sign with a CA that members do not trust")
			}
		})
	}
}

// A lost CA was replaced, and others signed with the new one before members trusted it.
func TestOthersSignWithACAOnlyWhenMembersTrustIt(t *testing.T) {
	w := newRotation(t, 1, managedFor(time.Hour))
	w.m.CA = nil
	w.judge()
	w.act(Plan(w.s))
	if w.m.CA == nil || w.m.CA.Get(material.IssuedCertKey) != nil {
		t.Fatalf("the new CA is %v", w.m.CA)
	}
	w.settle()
	w.report()
	if !bytes.Equal(w.m.CA.Get(material.IssuedCertKey), w.m.CA.Get(material.CACertKey)) {
		t.Error("others cannot sign with the new CA")
	}
}

// The API server refused tls.crt of the new CA for some hours. When it took it, the old CA was removed at once, so clients had no time to get another
// certificate.
func TestOthersHaveTheOverlapAfterTheyGotTheNewCA(t *testing.T) {
	for seed := range seeds {
		w := newRotation(t, seed, managedFor(time.Hour))
		w.other = &loaded{}
		w.look()
		var since time.Time
		w.plan = PlanWith(Instead("handOutCA", func(s state.State) steps.Step {
			step := certificates.HandOutCA(s)
			if step != nil && since.IsZero() {
				since = s.Now
			}
			if s.Now.Sub(since) < 3*time.Hour {
				return nil
			}
			return step
		}))
		w.m.Rotate = "now"
		for range 500 {
			w.judge()
			w.act(w.plan(w.s))
			w.check()
			w.tick(1)
		}
		w.report()
		if bundle := material.Bundle(w.m); len(bundle) != 1 {
			t.Errorf("seed %d: %d CAs are left", seed, len(bundle))
		}
	}
}
