package steps_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// Two causes with the same reason shared one time. So the second one was reported as stalled as soon as it began.
func TestEachCauseOfAWaitHasATimeOfItsOwn(t *testing.T) {
	wait := func(message string) steps.Wait { return steps.Wait{Reason: v1beta2.ReasonScaling, Message: message} }
	for name, test := range map[string]struct {
		before, after string
		same          bool
	}{
		"another member":   {"Member a-1 is starting: 3 of 5.", "Member a-2 is starting: 3 of 5.", false},
		"another cause":    {"No member is the leader. The operator waits.", "Member a-1 is catching up with the leader.", false},
		"another number":   {"2 of 3 members answer", "1 of 3 members answer", true},
		"another detail":   {"Member a-1 is starting: 3 of 5.", "Member a-1 is starting: 4 of 5.", true},
		"a quoted answer":  {"The operator is adding member a-1.", "The operator is adding member a-1. etcd refuses it for now: x", true},
		"another duration": {"It has lasted for 5m0s.", "It has lasted for 6m0s.", true},
	} {
		if same := wait(test.before).Key() == wait(test.after).Key(); same != test.same {
			t.Errorf("%s: %q and %q count as the same wait: %t", name, test.before, test.after, same)
		}
	}
}
