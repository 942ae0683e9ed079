package observe

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/cas"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// observeTLS is what a Pod shows in a cluster with TLS, with the times of its node.
func observeTLS(w *world.World, p *world.Pod, m *state.Member) {
	if m.ReadyAlone = w.PlainProbes; p.TLS == nil {
		return
	}
	e := p.TLS
	m.SecurePeer, m.SecureClient, m.Trust, m.Loaded = true, true, e.Trust, e.Loaded
	m.ShowsNew = e.Has.Peer.Signer == w.TLS.Held.Peer.Signer && e.Has.Client.Signer == w.TLS.Held.Client.Signer
	if p.State == state.PodRunning {
		m.EtcdSince = w.At(e.Since + e.Skew)
	}
	if !p.Ready && p.Placed {
		m.UnreadySince = state.Later(m.UnreadySince.Add(time.Duration(e.Skew)*time.Second), m.PodCreated)
	}
}

// slowRead is how seldom a member that is well does not answer in time. It does not happen again within slowGap seconds: while a member does not serve, the
// operator asks it every 30 s, and time flies in these worlds.
const (
	slowRead = 40
	slowGap  = 600
)

// refusesTLS says what the operator reads of a member that does not accept its certificate, or answers too late. The metrics need no certificate.
func refusesTLS(w *world.World, p *world.Pod, m *state.Member) bool {
	if w.TLS == nil || w.CutOff || p.Hung || p.Deaf {
		return false
	}
	if w.TLS.Slow {
		m.Unanswered = "deadline exceeded"
		return true
	}
	if p.TLS != nil && w.Pick(slowRead) == slowRead-1 && (p.TLS.Slow == 0 || w.Now-p.TLS.Slow > slowGap) {
		p.SetTLS(func(e *cas.Endpoint) { e.Slow = w.Now })
		m.Unanswered = "deadline exceeded"
		return true
	}
	if raft.AcceptsOperator(w, p) {
		return false
	}
	if d := w.Running(p); d != nil && w.Life(d.Cluster).ByID(d.Member) != nil {
		m.RaftIndex = uint64(d.Index) + 1
	}
	m.Unanswered = "tls: bad certificate"
	return true
}

// observeSilence is what the operator remembers of members that do not serve. It measures by a clock that no one sets.
func observeSilence(w *world.World, s *state.State) {
	if w.TLS == nil {
		return
	}
	w.TLS.Silence = w.TLS.Silence.Saw(s)
	for i := range s.Members {
		m := &s.Members[i]
		for _, at := range []*time.Time{&m.SilentSince, &m.FailingSince} {
			if w.Clocks && !at.IsZero() {
				*at = at.Add(w.Wrong)
			}
		}
		if m.ReadyAlone && m.PodReady && !m.Guarded && !m.SilentSince.IsZero() {
			m.UnreadySince = state.Later(m.SilentSince, m.PodCreated)
		}
	}
}

// SilentFor reports whether a member may be replaced although its Pod has not been not ready for so long: the clock of its node says so, or Pods before that one did not serve
// either.
func SilentFor(w *world.World, p *world.Pod, seconds int) bool {
	if w.TLS == nil || p.TLS == nil {
		return false
	}
	quiet, is := w.TLS.Silence.Of(p.Name)
	return p.TLS.Skew < 0 || is && w.Now-int(quiet.Failing.Sub(world.Epoch)/time.Second) >= seconds
}

// certificatesOf is what material.Judge says of the Secrets.
func certificatesOf(w *world.World) state.Certificates {
	t := w.TLS
	c := state.Certificates{Operator: true, Missing: t.Missing}
	if !t.Missing {
		c.Trust, c.Loaded = t.Held.Trust(), t.Held.Loaded()
	}
	if !w.ManagedTLS() {
		return c
	}
	c.CA = state.CertificateAuthority{Exists: t.Signs != 0, Previous: t.Before != 0, Invalid: t.Signs != 0 && !t.Valid(t.Signs) && !t.Valid(t.Before)}
	switch {
	case t.Signs == 0:
		c.Lacking = t.Missing
		return c
	case !t.Valid(t.Signs):
		c.CA.ReplaceCause = "the current one expired"
	case t.Asked && t.Before == 0:
		c.CA.ReplaceCause = "an annotation requests it"
	}
	if t.Missing {
		return c
	}
	held := t.Held.Peer
	needed := cas.SetOf(t.Signs) | held.Trusted&cas.SetOf(held.Signer)
	c.Unknown, c.Superseded = held.Trusted&needed != needed, held.Trusted&^needed != 0
	c.Wanted = cas.SetOf(t.Signs).Print()
	c.Refusing, c.RefusingExpired = t.Refusing(held)
	switch {
	case t.Expired.Has(held.Signer):
		c.Due = "the certificate of peers must be replaced: it has expired"
	case held.Signer != t.Signs:
		c.Outdated = true
	}
	c.SwitchAfter, c.DropAfter = w.At(t.TrustSince).Add(world.Overlap), w.At(t.ShownSince).Add(world.Overlap)
	return c
}
