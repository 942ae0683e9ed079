package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/etcd-suite/etcd-operator/internal/backup"
	"github.com/etcd-suite/etcd-operator/internal/cluster"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/restore"
)

// recorder is a registry that remembers its collectors.
type recorder struct {
	prometheus.Registerer
	collectors []prometheus.Collector
}

func (r *recorder) Register(c prometheus.Collector) error {
	r.collectors = append(r.collectors, c)
	return nil
}

// A metric of an operator.
type metric struct{ operator, name, kind, labels, help string }

// description is the text of a prometheus.Desc, which has no accessors.
var description = regexp.MustCompile(`^Desc\{fqName: "(.*?)", help: "(.*?)"(?:, unit: ".*?")?, constLabels: \{(.*?)\}, variableLabels: \{(.*?)\}\}$`)

// metrics are those of all operators, by name.
func metrics() ([]metric, error) {
	var found []metric
	for name, register := range map[string]func(prometheus.Registerer) error{
		cluster.Name: cluster.RegisterMetrics, backup.Name: backup.RegisterMetrics, restore.Name: restore.RegisterMetrics,
		"all": func(r prometheus.Registerer) error { return operator.RegisterBuildInfo(r, "") },
	} {
		r := &recorder{}
		if err := register(r); err != nil {
			return nil, fmt.Errorf("register the metrics of %s: %w", name, err)
		}
		for _, c := range r.collectors {
			m, err := describe(c)
			if err != nil {
				return nil, err
			}
			m.operator = name
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b metric) int { return strings.Compare(a.name, b.name) })
	return found, nil
}

func describe(c prometheus.Collector) (metric, error) {
	described := make(chan *prometheus.Desc, 10)
	c.Describe(described)
	text := (<-described).String()
	parts := description.FindStringSubmatch(text)
	if parts == nil {
		return metric{}, fmt.Errorf("a metric has the unknown description %s", text)
	}
	if parts[2] == "" {
		return metric{}, fmt.Errorf("metric %s has no help text", parts[1])
	}
	constant, _, _ := strings.Cut(parts[3], "=")
	return metric{name: parts[1], kind: kindOf(c), labels: cmp.Or(parts[4], constant), help: parts[2]}, nil
}

func kindOf(c prometheus.Collector) string {
	switch c.(type) {
	case *prometheus.HistogramVec, prometheus.Histogram:
		return "histogram"
	case *prometheus.GaugeVec, prometheus.Gauge:
		return "gauge"
	case *prometheus.CounterVec, prometheus.Counter:
		return "counter"
	}
	return "gauge" // a function
}

func metricRows(string) ([][]string, error) {
	found, err := metrics()
	rows := [][]string{{"metric", "type", "operator", "labels", "meaning"}}
	for _, m := range found {
		rows = append(rows, []string{code(m.name), m.kind, m.operator, strings.ReplaceAll(m.labels, ",", ", "), m.help})
	}
	return rows, err
}
