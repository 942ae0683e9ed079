package model

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// wrongClock is by how many seconds the clock of a node may be wrong.
const wrongClock = 3600

// newEndpoint is what a Pod has that is created now. The clock of its node may be wrong.
func (w *World) newEndpoint(s state.State) *endpoint {
	e := &endpoint{trust: s.Certificates.Trust, loaded: s.Certificates.Loaded}
	switch w.pick(10) {
	case 8:
		e.skew = -wrongClock
	case 9:
		e.skew = wrongClock
	}
	return e
}

// observeTLS is what a Pod shows in a cluster with TLS, with the times of its node.
func (w *World) observeTLS(p *pod, m *state.Member) {
	if m.ReadyAlone = w.PlainProbes; p.tls == nil {
		return
	}
	e := p.tls
	m.SecurePeer, m.SecureClient, m.Trust, m.Loaded = true, true, e.trust, e.loaded
	m.ShowsNew = e.has.peer.signer == w.TLS.held.peer.signer && e.has.client.signer == w.TLS.held.client.signer
	if p.state == state.PodRunning {
		m.EtcdSince = w.at(e.since + e.skew)
	}
	if !p.ready && p.placed {
		m.UnreadySince = state.Later(m.UnreadySince.Add(time.Duration(e.skew)*time.Second), m.PodCreated)
	}
}

// slowRead is how seldom a member that is well does not answer in time. It does not happen again within slowGap seconds: while a member does not serve, the
// operator asks it every 30 s, and time flies in these worlds.
const (
	slowRead = 40
	slowGap  = 600
)

// SlowPass is a pass in which no member answers in time.
func (w *World) SlowPass(planner Planner) {
	w.TLS.slow = true
	w.Pass(planner)
	w.TLS.slow = false
}

// refusesTLS says what the operator reads of a member that does not accept its certificate, or answers too late. The metrics need no certificate.
func (w *World) refusesTLS(p *pod, m *state.Member) bool {
	if w.TLS == nil || w.CutOff || p.hung || p.deaf {
		return false
	}
	if w.TLS.slow {
		m.Unanswered = "deadline exceeded"
		return true
	}
	if p.tls != nil && w.pick(slowRead) == slowRead-1 && (p.tls.slow == 0 || w.now-p.tls.slow > slowGap) {
		p.setTLS(func(e *endpoint) { e.slow = w.now })
		m.Unanswered = "deadline exceeded"
		return true
	}
	if w.acceptsOperator(p) {
		return false
	}
	if d := w.running(p); d != nil && w.life(d.cluster).byID(d.member) != nil {
		m.RaftIndex = uint64(d.index) + 1
	}
	m.Unanswered = "tls: bad certificate"
	return true
}

// observeSilence is what the operator remembers of members that do not serve. It measures by a clock that no one sets.
func (w *World) observeSilence(s *state.State) {
	if w.TLS == nil {
		return
	}
	w.TLS.silence = w.TLS.silence.Saw(s)
	for i := range s.Members {
		m := &s.Members[i]
		for _, at := range []*time.Time{&m.SilentSince, &m.FailingSince} {
			if w.Clocks && !at.IsZero() {
				*at = at.Add(w.wrong)
			}
		}
		if m.ReadyAlone && m.PodReady && !m.Guarded && !m.SilentSince.IsZero() {
			m.UnreadySince = state.Later(m.SilentSince, m.PodCreated)
		}
	}
}

// String of an endpoint, for the log of a run.
func (e *endpoint) String() string {
	return fmt.Sprintf("annotated %s, has %v, process %d since %d, skew %d", e.trust, e.has, e.process, e.since, e.skew)
}

// silentFor reports whether a member may be replaced although its Pod has not been not ready for so long: the clock of its node says so, or Pods before that one did not serve
// either.
func (w *World) silentFor(p *pod, seconds int) bool {
	if w.TLS == nil || p.tls == nil {
		return false
	}
	quiet, is := w.TLS.silence.Of(p.name)
	return p.tls.skew < 0 || is && w.now-int(quiet.Failing.Sub(epoch)/time.Second) >= seconds
}
