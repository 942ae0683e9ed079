package model

import (
	"maps"
	"slices"
)

// Clone returns a world that shares nothing with this one that a step, a fault or an effect changes in place. It is for worlds with the right time:
// what the operator has seen of clocks is shared.
func (w *World) Clone() *World {
	c := *w
	c.Cluster.Status, c.TLS = *w.Cluster.Status.DeepCopy(), w.TLS.clone()
	c.Restores, c.Violations = slices.Clone(w.Restores), slices.Clone(w.Violations)
	c.pods, c.volumes = clonePods(w.pods), cloneVolumes(w.volumes)
	c.incarnations = slices.Clone(w.incarnations)
	for i := range c.incarnations {
		l := &c.incarnations[i]
		l.entries, l.fences, l.changes = slices.Clone(l.entries), slices.Clone(l.fences), slices.Clone(l.changes)
	}
	c.copies, c.outside = maps.Clone(w.copies), maps.Clone(w.outside)
	for name, d := range c.outside {
		c.outside[name] = d.clone()
	}
	return &c
}

func clonePods(pods []pod) []pod {
	pods = slices.Clone(pods)
	for i := range pods {
		pods[i].scratch = pods[i].scratch.clone()
	}
	return pods
}

func cloneVolumes(volumes []volume) []volume {
	volumes = slices.Clone(volumes)
	for i := range volumes {
		volumes[i].data, volumes[i].away = volumes[i].data.clone(), volumes[i].away.clone()
	}
	return volumes
}

func (d *data) clone() *data {
	if d == nil {
		return nil
	}
	c := *d
	return &c
}
