package waits_test

import (
	"strconv"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A member that restarts with a quota below what its database uses makes etcd refuse all writes. A wait without need keeps back each other change of the spec.
func TestAQuotaBelowWhatIsInUseRestartsNoMember(t *testing.T) {
	const gib = int64(1) << 30
	for name, test := range map[string]struct {
		quota, inUse, asked int64
		answers, waits      bool
	}{
		"more is in use":                          {8 * gib, 3 * gib, 2 * gib, true, true},
		"as much is in use":                       {8 * gib, 2 * gib, 2 * gib, true, false},
		"more is in use, and there was no quota":  {-1, 3 * gib, 2 * gib, true, true},
		"more is in use, of a member with it now": {2 * gib, 3 * gib, 2 * gib, true, false},
		"the quota of the member is not known":    {0, 3 * gib, 2 * gib, true, false},
		"the member does not answer":              {8 * gib, 3 * gib, 2 * gib, false, false},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.QuotaEnv(strconv.FormatInt(test.asked, 10)))
		s.Members[1].PodQuota, s.Members[1].DBSizeInUse, s.Members[1].Answers = ptr.To(test.quota), test.inUse, test.answers
		if step := waits.QuotaTooLow(s); (step != nil) != test.waits {
			t.Errorf("%s: %+v", name, step)
		}
	}
}
