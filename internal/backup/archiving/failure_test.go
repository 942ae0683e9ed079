package archiving

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/backup/status"
)

// All objects of an idle archive were moved, and the store returned nothing new either. The archiver could not begin, so the operator looked at
// the archive no more. A month later the status still listed the old points without a word.
func TestTheConditionSaysThatTheListMayBeWrongWhileNoArchiverBegins(t *testing.T) {
	s := statetest.ArchivingState(t)
	s.Status = status.NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
	if len(s.Status.Recoverable) == 0 {
		t.Fatal("nothing is recoverable before")
	}
	err := fmt.Errorf("read the start of timeline 1: 403: %w; and another timeline would not help: %w: %w", fs.ErrPermission, archiver.ErrUnreturned, fs.ErrPermission)
	s.Archive = &state.Archive{Failures: 1000, Idle: s.Now, Failure: classify(err, state.JobSpecOf(s))}
	s.Now = s.Now.Add(30 * 24 * time.Hour)
	s.Status = status.NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
	c := state.ConditionOf(s.Status.Conditions, v1beta2.ConditionArchiving)
	for _, part := range []string{"status.recoverable may list points", "to read objects", "decrypt", "takes no snapshot"} {
		if c.Status != metav1.ConditionFalse || c.Reason != v1beta2.ReasonAccessDenied || !strings.Contains(c.Message, part) {
			t.Errorf("the message does not say %q: %+v", part, c)
		}
	}
}
