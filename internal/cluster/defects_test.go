package cluster

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestAnInvalidListOfDefectsDoesNotStopTheOperator(t *testing.T) {
	const good = `{"from":"3.6.0","effect":"members can lose data","source":"https://example.com/1"}`
	for text, want := range map[string]int{"": 0, "not JSON": 0, "[" + good + `,{"from":"soon"}]`: 1} {
		r, err := New(nil, nil, nil, Options{Metrics: prometheus.NewRegistry(), Defects: text})
		if err != nil || len(r.observer.Defects) != want {
			t.Errorf("%q: %v and %d defects, want %d", text, err, len(r.observer.Defects), want)
		}
	}
}
