package act

import (
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/cas"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// actOnCertificates does the steps about CAs and certificates, as material and the act of certificates do.
func actOnCertificates(w *world.World, step steps.Step) error {
	t := w.TLS
	if w.Stale {
		return errStale // the Secrets have changed since
	}
	switch step := step.(type) {
	case steps.CreateCA:
		t.Signs, t.Before, t.Asked = t.NewCA(), 0, false
	case steps.ReplaceCA:
		if t.Before == 0 || !t.Valid(t.Before) || t.Valid(t.Signs) {
			t.Before = t.Signs
		}
		t.Signs, t.Asked = t.NewCA(), false
	case steps.RemovePreviousCA:
		t.Before = 0
	case steps.WriteCertificates:
		writeCertificates(w, step)
	case steps.LoadCertificates:
		if p := w.Pod(step.Name); p != nil && p.TLS != nil {
			held := t.Held
			p.SetTLS(func(e *cas.Endpoint) { e.Loaded = step.Loaded; e.Mount(held) })
		}
	}
	return nil
}

func writeCertificates(w *world.World, step steps.WriteCertificates) {
	t := w.TLS
	before := t.Held.Peer
	if t.Missing {
		before = cas.Keys{}
	}
	after := cas.Keys{Trusted: before.Trusted | cas.SetOf(t.Signs), Signer: before.Signer}
	if step.Drop {
		after.Trusted = cas.SetOf(t.Signs) | before.Trusted&cas.SetOf(before.Signer)
	}
	if t.Valid(t.Before) && !t.Valid(t.Signs) {
		after.Trusted |= cas.SetOf(t.Before)
	}
	due := before.Signer == 0 || t.Expired.Has(before.Signer)
	if due || step.Switch && before.Signer != t.Signs {
		after.Signer = t.Signs
		if t.Valid(t.Before) && (!t.Valid(t.Signs) || !step.Switch && before.Signer == t.Before) {
			after.Signer = t.Before
		}
		t.ShownSince = w.Now
	}
	if before.Trusted&after.Trusted != after.Trusted {
		t.TrustSince = w.Now
	}
	t.Held, t.Missing = cas.Secrets{Peer: after, Client: after}, false
}
