package queue

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

func TestOneNamespaceAndOneStoreLeaveAWorkerToOthers(t *testing.T) {
	l := Options{MaxConcurrent: 4}.Limits()
	claim := l.Claim(state.JobSpecOf(statetest.One()))
	if claim.Lane != LaneSnapshot || claim.Namespace != 2 || len(claim.Groups) != 1 {
		t.Fatalf("%+v", claim)
	}
	for group, limit := range claim.Groups {
		if limit != 3 {
			t.Errorf("%s may use %d of 4 workers", group, limit)
		}
	}
	if drill := l.Claim(state.JobSpec{Kind: state.KindDrill}); drill.Lane != LaneDrill || len(drill.Groups) > 0 {
		t.Errorf("%+v", drill)
	}
}
