package act

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/volumes"
)

// actOnVolume does the steps that touch volumes only.
func actOnVolume(w *world.World, s state.State, step steps.Step) error {
	switch step := step.(type) {
	case steps.CreateVolumes:
		for _, name := range state.InitialNames(s, step.Incarnation, step.Size) {
			provide(w, world.Volume{Size: sizeOf(s), Name: name, Incarnation: step.Incarnation, InitialSize: step.Size})
		}
	case steps.KeepVolume:
		if v := w.Volume(step.Name); v != nil {
			v.Kept = step.Keep
		}
	case steps.ResizeVolume:
		return resizeVolume(w, step)
	case steps.SetAsideVolume:
		if v := w.Volume(step.Name); v != nil {
			v.Aside, v.Since = true, w.Now
		}
	case steps.UnmarkVolume:
		if v := w.Volume(step.Name); v != nil {
			v.Recovered, v.RecoveredAt = false, time.Time{}
		}
	case steps.RecordForcing, steps.RecordForced:
		for _, name := range volumes.ReplacedByRecovery(s) {
			if v := w.Volume(name); v != nil {
				v.Recovered = true
				if at := s.Recovery.StartedAt; at != nil {
					v.RecoveredAt = at.Time
				}
			}
		}
	case steps.DeleteVolume:
		if v := w.Volume(step.Name); v != nil {
			v.Deleting = true
		}
	}
	return nil
}

// resizeVolume is what the API server and the driver make of it.
func resizeVolume(w *world.World, step steps.ResizeVolume) error {
	size := resource.MustParse(step.Size)
	v := w.Volume(step.Name)
	if v == nil {
		return nil
	}
	if size.Value() < v.Size {
		return fmt.Errorf("volume %s cannot shrink", v.Name)
	}
	v.Full = v.Full && v.Size == size.Value()
	v.Size = size.Value()
	return nil
}

// ResizePod is what the operator notes on the Pod, and the API server's answer. target is what the operator's cache has.
func ResizePod(w *world.World, name string, target int) error {
	p := w.Pod(name)
	if p == nil {
		return nil
	}
	if before := p.Resize; before.Asked != target || before.Refused {
		p.Resize = world.Resizing{Asked: target, At: w.Now}
	}
	switch w.Nodes {
	case world.ResizeRefused:
		p.Resize.Refused, p.Resize.Forbidden = true, false
	case world.ResizeForbidden:
		p.Resize.Forbidden = true
		return errForbidden
	default:
		if p.Resize.Forbidden {
			p.Resize.Forbidden, p.Resize.At = false, w.Now
		}
	}
	return nil
}

var errForbidden = errors.New("the quota is exceeded")
