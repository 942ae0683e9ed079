package attempt_test

import (
	"context"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
)

func TestASuspendedSeriesIsPrunedWithoutItsCluster(t *testing.T) {
	w := attempttest.NewWorld(t)
	var newest *v1beta2.Snapshot
	for hour := range 3 {
		w.Now = statetest.At(statetest.T0.Add(time.Duration(hour) * time.Hour))
		newest = w.Attempt(statetest.Series()).Snapshot
	}
	w.Probe = func(context.Context, []string, ask.Access) []ask.Answer { t.Error("a member was asked"); return nil }
	w.Now = statetest.At(statetest.T0.Add(24 * time.Hour))
	o := state.JobSpecOf(statetest.Series(statetest.Suspends, statetest.Keep(2), func(s *state.State) { s.Status.Snapshot = newest }))
	o.Kind = state.KindPrune
	r := w.Run(t.Context(), o, &queue.Progress{})
	if r.Failure != nil || r.Pruned != 1 || len(r.Kept) != 2 || r.Kept[0].Path != newest.Path || !w.Has(newest) {
		t.Errorf("%+v, left %q", r, w.Keys())
	}
}
