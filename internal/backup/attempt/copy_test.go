package attempt_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

func TestASecondLocationKeepsItsHistoryUnlessTheClocksAgree(t *testing.T) {
	for name, test := range map[string]struct {
		store   func(objstore.Store) objstore.Store
		problem string
	}{
		"the clock is ahead":            {func(s objstore.Store) objstore.Store { return s }, "ahead of the clock of the store"},
		"the clocks cannot be compared": {func(s objstore.Store) objstore.Store { return untimed{Store: s} }, "compare the clock"},
	} {
		t.Run(name, func(t *testing.T) {
			w := attempttest.NewWorld(t)
			s := statetest.Series(statetest.Copies, func(s *state.State) { s.Spec.BackupPolicy.Retention = &v1beta2.Retention{KeepWithin: "1w"} })
			present, second := time.Now(), s
			second.Target = s.CopyTarget
			for hour := range 3 {
				w.Now = statetest.At(present.Add(time.Duration(hour-4) * time.Hour))
				s.Status.Snapshot = w.Attempt(s).Snapshot
				w.Attempt(second)
			}
			before := w.Keys()
			w.Now, w.Store = statetest.At(present.Add(240*time.Hour)), test.store(w.Store)
			o := state.JobSpecOf(s)
			o.Kind = state.KindCopy
			r := w.Run(t.Context(), o, &queue.Progress{})
			if r.Failure != nil || r.Pruned != 0 || len(r.Kept) != 3 || !slices.Equal(before, w.Keys()) || !strings.Contains(r.PruneProblem, test.problem) {
				t.Errorf("%+v, %q before, left %q", r, before, w.Keys())
			}
		})
	}
}
