package metrics

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestAMetricHasOneSeriesForEachClusterAndLabel(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	alarms, paused := newGauges("alarms", "Help.", "alarm"), newGauges("paused", "Help.")
	registry.MustRegister(alarms, paused)
	for _, value := range []float64{1, 2} {
		alarms.setLabelled("ns", "a", "CORRUPT", value)
		alarms.setLabelled("ns", "a", "NOSPACE", 2*value)
		alarms.setLabelled("ns", "b", "NOSPACE", 7)
		paused.set("other", "a", value)
	}
	const want = `alarms{alarm="CORRUPT",name="a",namespace="ns"} 2
alarms{alarm="NOSPACE",name="a",namespace="ns"} 4
alarms{alarm="NOSPACE",name="b",namespace="ns"} 7
paused{name="a",namespace="other"} 2
`
	if got := series(t, registry); got != want {
		t.Errorf("the series are\n%s", got)
	}
	alarms.remove("ns", "a")
	if n := testutil.CollectAndCount(alarms); n != 1 {
		t.Errorf("%d series are left, expected 1", n)
	}
}

func TestASlowReaderOfTheMetricsHoldsUpNoPass(t *testing.T) {
	g := newGauges("paused", "Help.")
	g.set("ns", "a", 1)
	read := make(chan prometheus.Metric)
	collected := make(chan struct{})
	go func() { g.Collect(read); close(collected) }()
	set := make(chan struct{})
	go func() {
		for range 1000 {
			g.set("ns", "b", 1)
		}
		close(set)
	}()
	select {
	case <-set:
	case <-time.After(10 * time.Second):
		t.Error("a number cannot be set while the series are read")
	}
	for {
		select {
		case <-read:
		case <-collected:
			return
		}
	}
}
