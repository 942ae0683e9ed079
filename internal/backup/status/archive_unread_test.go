package status

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// The keeper could not read the archive any more, because an object was in an archive tier. The condition said that all can be restored.
func TestArchivingIsNotTrueAfterTheArchiveCouldNotBeRead(t *testing.T) {
	s := statetest.ArchivingState(t)
	s.Archive.Unread = "The operator could not read the archive: read the start of timeline 1: 403 InvalidObjectState."
	s.Status = NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
	c := state.ConditionOf(s.Status.Conditions, v1beta2.ConditionArchiving)
	if c == nil || c.Status == metav1.ConditionTrue {
		t.Fatalf("Archiving is %+v, recoverable %+v", c, s.Status.Recoverable)
	}
	for _, part := range []string{"start of timeline 1", "may list points", "exclude the folder continuous-archive/ from the rule", "move them back"} {
		if !strings.Contains(c.Message, part) {
			t.Errorf("the message does not say %q: %s", part, c.Message)
		}
	}
}
