package model

import "reflect"

// tls writes the CAs and Secrets of a world, and what the operator remembers of silent members.
func (e *encoder) tls(w *World) {
	t := w.TLS
	e.truth(t == nil)
	if t == nil {
		return
	}
	e.truth(w.PlainProbes)
	for _, part := range []any{t.held, t.missing, t.signs, t.before, t.asked, t.expired} {
		e.value(reflect.ValueOf(part))
	}
	e.age(t.trustSince)
	e.age(t.shownSince)
	e.time(t.silence.NoQuorum())
	for _, p := range byName(w.pods, func(p pod) string { return p.name }) {
		if quiet, is := t.silence.Of(p.name); is {
			e.text(p.name)
			e.value(reflect.ValueOf(quiet))
		}
	}
}

// endpoint writes what a Pod has, and the members that it is connected to.
func (e *encoder) endpoint(w *World, p *pod) {
	t := p.tls
	e.truth(t == nil)
	if t == nil {
		return
	}
	for _, part := range []any{t.trust, t.loaded, t.has, t.skew, t.process != 0} {
		e.value(reflect.ValueOf(part))
	}
	if t.process == 0 {
		return
	}
	e.age(t.since)
	for _, other := range byName(w.pods, func(p pod) string { return p.name }) {
		e.truth(other.tls != nil && other.name != p.name && w.linked(p, &other))
	}
}
