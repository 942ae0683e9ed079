package plan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// If a person corrects the Secret for the seed, the operator loses access to the present members. It would then skip the
// safety snapshot and lose the writes since the snapshot.
func TestTheSafetySnapshotIsTakenBeforeThePasswordOfTheSnapshotIsAskedFor(t *testing.T) {
	request := func(s *state.State) {
		asked(s)
		s.Request.Safety = v1beta2.SafetySnapshotIfPossible
	}
	s := stateWith(formed, members(3), user, restored(v1beta2.RestoreSeeding), request, aSeed(serving, deniedBy(etcd.RefusedPassword)))
	if _, asks := Plan(s).(steps.AwaitSafetySnapshot); !asks {
		t.Fatalf("the plan is %+v", Plan(s))
	}
	asked := metav1.NewTime(noon.Add(-3 * time.Hour))
	s.Restore.SeedReadyTime = &asked // and no safety snapshot was taken
	if wait, _ := Plan(s).(steps.Wait); wait.Reason != v1beta2.ReasonEtcdAccessDenied {
		t.Errorf("the operator asks for it again and again: %+v", Plan(s))
	}
	s.Request.Saved = &v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotTaken}
	wait, _ := Plan(s).(steps.Wait)
	if wait.Reason != v1beta2.ReasonEtcdAccessDenied || !strings.Contains(wait.Message, "Correct Secret login") {
		t.Errorf("after the safety snapshot the plan is %+v", Plan(s))
	}
}
