package operator

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestVersionIsAMetric(t *testing.T) {
	registry := prometheus.NewRegistry()
	if err := RegisterBuildInfo(registry, "backup-operator"); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "etcd_operator_build_info" {
		t.Fatalf("the metrics are %v, error %v", families, err)
	}
	metric := families[0].GetMetric()[0]
	labels := map[string]string{}
	for _, pair := range metric.GetLabel() {
		labels[pair.GetName()] = pair.GetValue()
	}
	if metric.GetGauge().GetValue() != 1 || labels["operator"] != "backup-operator" || labels["version"] != Version || !strings.HasPrefix(labels["goversion"], "go") {
		t.Errorf("the metric is %v", metric)
	}
}

func TestVersionIsAValidLabelOfTheLease(t *testing.T) {
	for version, want := range map[string]string{
		"0.1.0": "0.1.0", "1.0.0-rc.1": "1.0.0-rc.1", "1.0.0+build": "1.0.0_build", "dev": "dev", strings.Repeat("a", 99): strings.Repeat("a", 63), "": "",
	} {
		got := leaseLabels(version)[versionLabel]
		if problems := validation.IsValidLabelValue(got); got != want || len(problems) > 0 {
			t.Errorf("version %q gives the label %q, want %q; %v", version, got, want, problems)
		}
	}
}
