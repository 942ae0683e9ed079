package plan

// relabel brings labels and annotations of running Pods to what the spec asks, and notes on a Pod of an earlier
// release what it was made for, where that can be told by looking at it.
func relabel(s State) Step {
	for _, m := range s.Current() {
		if m.Relabel && (m.Pod == PodRunning || m.Pod == PodStarting) && s.Formed() {
			return RelabelPod{Name: m.Name}
		}
	}
	return nil
}
