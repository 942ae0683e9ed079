package world

import (
	"maps"
	"slices"
)

// Clone returns a world that shares nothing with this one that a step, a fault or an effect changes in place. It is for worlds with the right time:
// what the operator has seen of clocks is shared.
func (w *World) Clone() *World {
	c := *w
	c.Cluster.Status, c.TLS = *w.Cluster.Status.DeepCopy(), w.TLS.Clone()
	c.Restores, c.Violations = slices.Clone(w.Restores), slices.Clone(w.Violations)
	c.Pods, c.Volumes = clonePods(w.Pods), cloneVolumes(w.Volumes)
	c.Incarnations = slices.Clone(w.Incarnations)
	for i := range c.Incarnations {
		l := &c.Incarnations[i]
		l.Entries, l.Fences, l.Changes = slices.Clone(l.Entries), slices.Clone(l.Fences), slices.Clone(l.Changes)
	}
	c.Copies, c.Outside = maps.Clone(w.Copies), maps.Clone(w.Outside)
	for name, d := range c.Outside {
		c.Outside[name] = d.clone()
	}
	return &c
}

func (d *Data) clone() *Data {
	if d == nil {
		return nil
	}
	c := *d
	return &c
}

func clonePods(pods []Pod) []Pod {
	pods = slices.Clone(pods)
	for i := range pods {
		pods[i].Scratch = pods[i].Scratch.clone()
	}
	return pods
}

func cloneVolumes(volumes []Volume) []Volume {
	volumes = slices.Clone(volumes)
	for i := range volumes {
		volumes[i].Data, volumes[i].Away = volumes[i].Data.clone(), volumes[i].Away.clone()
	}
	return volumes
}
