package model

import "github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"

// actOnCertificates does the steps about CAs and certificates, as material and the act of certificates do.
func (w *World) actOnCertificates(step steps.Step) error {
	t := w.TLS
	if w.stale {
		return errStale // the Secrets have changed since
	}
	switch step := step.(type) {
	case steps.CreateCA:
		t.signs, t.before, t.asked = t.newCA(), 0, false
	case steps.ReplaceCA:
		if t.before == 0 || !t.valid(t.before) || t.valid(t.signs) {
			t.before = t.signs
		}
		t.signs, t.asked = t.newCA(), false
	case steps.RemovePreviousCA:
		t.before = 0
	case steps.WriteCertificates:
		w.writeCertificates(step)
	case steps.LoadCertificates:
		if p := w.pod(step.Name); p != nil && p.tls != nil {
			held := t.held
			p.setTLS(func(e *endpoint) { e.loaded = step.Loaded; e.mount(held) })
		}
	}
	return nil
}

func (w *World) writeCertificates(step steps.WriteCertificates) {
	t := w.TLS
	before := t.held.peer
	if t.missing {
		before = keys{}
	}
	after := keys{before.trusted | setOf(t.signs), before.signer}
	if step.Drop {
		after.trusted = setOf(t.signs) | before.trusted&setOf(before.signer)
	}
	if t.valid(t.before) && !t.valid(t.signs) {
		after.trusted |= setOf(t.before)
	}
	due := before.signer == 0 || t.expired.has(before.signer)
	if due || step.Switch && before.signer != t.signs {
		after.signer = t.signs
		if t.valid(t.before) && (!t.valid(t.signs) || !step.Switch && before.signer == t.before) {
			after.signer = t.before
		}
		t.shownSince = w.now
	}
	if before.trusted&after.trusted != after.trusted {
		t.trustSince = w.now
	}
	t.held, t.missing = secrets{after, after}, false
}
