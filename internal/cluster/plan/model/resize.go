package model

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// ResizeFate is what Kubernetes makes of a change of CPU and memory in a running Pod.
type ResizeFate int

// The fates.
const (
	// ResizeCarriedOut: the node changes what the Pod has.
	ResizeCarriedOut ResizeFate = iota
	// ResizeDeferred: the node waits for room.
	ResizeDeferred
	// ResizeInfeasible: the node never can.
	ResizeInfeasible
	// ResizeLost: the kubelet reports nothing.
	ResizeLost
	// ResizeRefused: the API server never accepts it. ResizeForbidden: not now.
	ResizeRefused
	ResizeForbidden
	resizeFates
)

// resizing is the note on a Pod, and what the node reports.
type resizing struct {
	// asked is what was asked for, and 0 if nothing was. at is when.
	asked, at                      int
	refused, forbidden, infeasible bool
}

// Resize asks for other CPU and memory.
func (w *World) Resize(fate ResizeFate) {
	w.resources++
	w.Nodes = fate
}

// resizeFaults are added to all others in a world that resizes.
var resizeFaults = []fault{changeResources, changeResources, changeResources, changeNodes}

func changeResources(w *World, _ *rand.Rand) string {
	w.Resize(w.Nodes)
	return fmt.Sprintf("resources %d", w.resources)
}

func changeNodes(w *World, r *rand.Rand) string {
	w.Nodes = ResizeFate(r.IntN(int(resizeFates)))
	return fmt.Sprintf("resizes end with fate %d", w.Nodes)
}

var errForbidden = errors.New("the quota is exceeded")

// resizePod is what the operator notes on the Pod, and the API server's answer. target is what the operator's cache has.
func (w *World) resizePod(name string, target int) error {
	p := w.pod(name)
	if p == nil {
		return nil
	}
	if before := p.resize; before.asked != target || before.refused {
		p.resize = resizing{asked: target, at: w.now}
	}
	switch w.Nodes {
	case ResizeRefused:
		p.resize.refused, p.resize.forbidden = true, false
	case ResizeForbidden:
		p.resize.forbidden = true
		return errForbidden
	default:
		if p.resize.forbidden {
			p.resize.forbidden, p.resize.at = false, w.now
		}
	}
	return nil
}

// accepted reports whether the API server has accepted what the node has yet to carry out.
func (p *pod) accepted() bool {
	return p.resize.asked != 0 && p.resize.asked != p.resources && !p.resize.refused && !p.resize.forbidden
}

// tickResize says whether the node did something.
func (w *World) tickResize(p *pod) bool {
	if p.state != state.PodRunning || !p.accepted() {
		return false
	}
	switch w.Nodes {
	case ResizeInfeasible:
		moved := !p.resize.infeasible
		p.resize.infeasible = true
		return moved
	case ResizeDeferred, ResizeLost:
		return false
	}
	p.resources, p.resize.infeasible = p.resize.asked, false
	return true
}

// observeResize is what the operator sees of a Pod that differs in nothing else.
func (w *World) observeResize(p *pod, m *state.Member) {
	if p.resources == w.resources {
		return
	}
	alone := !m.Outdated && p.state == state.PodRunning
	m.Outdated = true
	late := time.Duration(w.now-p.resize.at)*time.Second > lifecycle.ResizeGrace
	switch current := p.resize.asked == w.resources; {
	case !alone:
	case !current, p.resize.forbidden:
		m.Resize = lifecycle.ResizeWanted
	case p.resize.refused, p.resize.infeasible, late:
	default:
		m.Resize = lifecycle.ResizeUnderWay
	}
}
