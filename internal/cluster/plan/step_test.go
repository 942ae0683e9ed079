package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// The operator checks a problem that a person must fix less often. A comparison of data reads every database from end to end,
// and StorageClasses are listed for all clusters.
func TestWhatWaitsForAPersonIsNotLookedAtAsOftenAsWhatComesUp(t *testing.T) {
	fixed := func(m *state.Member) { m.VolumeFixed = true }
	infeasible := func(m *state.Member) { m.VolumeProblem = "ControllerResizeInfeasible" }
	for name, test := range map[string]struct {
		state state.State
		want  time.Duration
	}{
		"a member that starts": {stateWith(formed, members(3), with(1, pod(state.PodStarting))), 500 * time.Millisecond},
		"a CORRUPT alarm that names another member than the one that differs": {stateWith(formed, members(3), accused(3), hashing("a", "b", "a")), 30 * time.Second},
		"a corrupt member that quorum needs":                                  {stateWith(formed, members(5), size(5), with(3, silent), with(4, silent), accused(2), hashing("a", "b", "a", "a")), 30 * time.Second},
		"a StorageClass that does not let volumes grow":                       {stateWith(formed, members(1), size(1), volumesOf("16Gi"), with(0, holds(8, 8), fixed)), 10 * time.Second},
		"a driver that cannot provide the requested size":                     {stateWith(formed, members(1), size(1), volumesOf("16Gi"), with(0, holds(16, 8), infeasible)), 10 * time.Second},
		"a schedule that is never due":                                        {stateWith(formed, members(3), defragmentedBy(v1beta2.DefragmentationPolicy{Schedule: "0 3 31 2 *"})), 10 * time.Second},
		"a Secret that is missing":                                            {stateWith(formed, members(3), func(s *state.State) { s.SecretProblem = "Secret tls is not there" }), 30 * time.Second},
		"a member that is due to be replaced in 1 s": {stateWith(formed, members(3), with(1, pod(state.PodBlocked), func(m *state.Member) {
			m.PodReason, m.UnreadySince = v1beta2.ReasonPodFailing, noon.Add(time.Second-5*time.Minute)
		})), 1500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			step := Plan(test.state)
			got := steps.Describe(test.state, step)
			if _, waits := step.(steps.Wait); !waits || got.Requeue != test.want {
				t.Errorf("%T %s is looked at again after %s, want %s", step, got.Message, got.Requeue, test.want)
			}
		})
	}
}
