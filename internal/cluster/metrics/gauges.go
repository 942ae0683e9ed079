package metrics

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// gauges is a metric of all EtcdClusters. A series of a prometheus.GaugeVec takes 400 bytes, and an EtcdCluster has 20 of them. This
// keeps the numbers only, and makes the series when they are collected.
type gauges struct {
	desc *prometheus.Desc

	mu     sync.Mutex
	values map[types.NamespacedName][]labelled
}

// labelled is a number, and the value of the third label; empty if the metric has two labels.
type labelled struct {
	label string
	value float64
}

// newGauges returns a metric with the labels namespace and name, and at most one more.
func newGauges(name, help string, more ...string) *gauges {
	return &gauges{
		desc:   prometheus.NewDesc(name, help, append([]string{"namespace", "name"}, more...), nil),
		values: map[types.NamespacedName][]labelled{},
	}
}

// set sets the number of an EtcdCluster.
func (g *gauges) set(namespace, name string, value float64) {
	g.setLabelled(namespace, name, "", value)
}

// setLabelled sets the number of an EtcdCluster with a value of the third label.
func (g *gauges) setLabelled(namespace, name, label string, value float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := types.NamespacedName{Namespace: namespace, Name: name}
	all := g.values[key]
	if i := slices.IndexFunc(all, func(l labelled) bool { return l.label == label }); i >= 0 {
		all[i].value = value
		return
	}
	g.values[key] = append(slices.Clip(all), labelled{label, value})
}

// remove removes all series of an EtcdCluster.
func (g *gauges) remove(namespace, name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.values, types.NamespacedName{Namespace: namespace, Name: name})
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- g.desc }

// Collect implements prometheus.Collector.
func (g *gauges) Collect(metrics chan<- prometheus.Metric) {
	for _, m := range g.collected() {
		metrics <- m
	}
}

// collected makes the series. No pass waits until they are written to a slow reader.
func (g *gauges) collected() []prometheus.Metric {
	g.mu.Lock()
	defer g.mu.Unlock()
	collected := make([]prometheus.Metric, 0, len(g.values))
	for key, all := range g.values {
		for _, l := range all {
			labels := []string{key.Namespace, key.Name}
			if l.label != "" {
				labels = append(labels, l.label)
			}
			collected = append(collected, prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, l.value, labels...))
		}
	}
	return collected
}
