package inventory

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/backup/status"
)

// A user believed that each point of the window could be restored, until a restore was refused.
func TestTheStatusNamesWhichSegmentsCannotBeRestored(t *testing.T) {
	holes := []archive.Hole{
		{Timeline: 1, First: 2, Last: 3}, {Timeline: 1, First: 5, Last: 6}, {Timeline: 1, First: 11, Last: 12},
		{Timeline: 1, First: 15, Last: 16, Cold: "folder/15.segment"},
	}
	s := statetest.ArchivingState(t, func(s *state.State) { s.Archive.Holes = holed(holes) })
	s.Status = status.NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
	c := state.ConditionOf(s.Status.Conditions, v1beta2.ConditionArchiving)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != v1beta2.ReasonArchiveCorrupt {
		t.Fatalf("Archiving is %+v", c)
	}
	for _, want := range []string{"folder/15.segment", "revisions 11 to 12", "revisions 5 to 6", "older parts: 1 more", "status.recoverable"} {
		if !strings.Contains(c.Message, want) {
			t.Errorf("the message does not say %q: %s", want, c.Message)
		}
	}
}
