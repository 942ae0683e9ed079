package queue

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestOptionsThatDoNotFitEachOtherAreRefused(t *testing.T) {
	for name, o := range map[string]Options{
		"a spool without room for one snapshot":  {SpoolLimit: 1 << 20, MaxConcurrent: 1},
		"a spool that keeps the whole disk free": {SpoolKeepFree: 100, MaxConcurrent: 1},
		"a limit of no concurrent snapshots":     {},
	} {
		t.Run(name, func(t *testing.T) {
			o.SpoolDir, o.Metrics = t.TempDir(), prometheus.NewRegistry()
			if _, err := OpenSpool(o); err == nil {
				t.Error("no error")
			}
		})
	}
}
