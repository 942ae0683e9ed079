package repair_test

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A webhook puts the gate of a learner's Pod back. Without the report, the user would read that the learner catches up, which it never does. If the API server only
// refused the change, or if the learner runs, the report would be wrong.
func TestALearnerWhoseReleaseIsReversedIsReported(t *testing.T) {
	for name, test := range map[string]struct {
		times    int
		waits    bool
		reversed bool
	}{
		"another party reverses it":     {3, true, true},
		"the API server refused it":     {0, true, false},
		"the learner was released":      {3, false, false},
		"nothing was held, and it runs": {0, false, false},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.Size(4), plantest.With(3, plantest.Learner, plantest.Pod(state.PodStarting)))
		s.Members[3].Waits = test.waits
		if test.times > 0 || test.waits {
			s.Held = []state.Held{{Step: steps.RepeatKey(s, steps.ReleaseMember{Name: plantest.NameOf(3)}), Times: test.times, Until: plantest.Noon.Add(time.Hour)}}
		}
		wait, is := plan.Plan(s).(steps.Wait)
		if reversed := strings.Contains(wait.Message, "Another party reverses"); !is || reversed != test.reversed {
			t.Errorf("%s: %T %q", name, plan.Plan(s), wait.Message)
		}
	}
}
