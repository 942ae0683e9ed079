package services_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func TestTheIncarnationOfAMemberIsInItsName(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, func(s *state.State) { s.Incarnation = 2_000_000_000 }) // the status may hold any number
	for name, want := range map[string]int32{
		plantest.NameOf(0): 1, state.MemberName("example", "uid-example", 7, 5): 7,
		state.MemberName("example", "uid-earlier", 1, 0): 0, "example-backup": 0, "": 0,
	} {
		if got, ok := services.IncarnationNamed(s, name); got != want || ok != (want > 0) {
			t.Errorf("%q is of incarnation %d (%v), want %d", name, got, ok, want)
		}
	}
}

func TestARestoreIsNotRunAgainAfterAnOldStatusWasPutBack(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.ServicesFor(2, plantest.SeedID), func(s *state.State) {
		s.Services.ClientRestoreUID = "uid-back"
		for i := range s.Members {
			s.Members[i].Incarnation = 2
		}
	})
	services.CorrectIncarnation(&s)
	if s.ClusterID != plantest.SeedID || s.Restore == nil || s.Restore.UID != "uid-back" || s.Restore.Step != v1beta2.RestoreGrowing {
		t.Errorf("cluster ID %s, restore %+v", s.ClusterID, s.Restore)
	}
}
