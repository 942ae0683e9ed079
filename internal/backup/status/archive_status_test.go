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

// The condition was True and named a revision, although nothing was archived any more.
func TestAnArchiveThatStandsStillIsNotReportedAsComplete(t *testing.T) {
	const unread = "The operator could not read the archive: 503."
	for name, test := range map[string]struct {
		archive func(now time.Time) *state.Archive
		reason  string
		text    string
	}{
		"the operator has just started":        {func(now time.Time) *state.Archive { return &state.Archive{Idle: now.Add(-time.Second)} }, v1beta2.ReasonArchiving, "Revision 20"},
		"the archiver has waited for a minute": {func(now time.Time) *state.Archive { return &state.Archive{Idle: now.Add(-time.Minute)} }, v1beta2.ReasonArchiveStarting, "since"},
		"one failed attempt took a minute": {func(now time.Time) *state.Archive {
			return &state.Archive{Idle: now.Add(-time.Minute), Failures: 1, Failure: &state.Failure{Reason: "X", Message: "y."}}
		}, "X", "y."},
		"uploads fail before the archive was read": {func(time.Time) *state.Archive { return &state.Archive{Begun: true, Delayed: time.Hour} }, v1beta2.ReasonArchiveDelayed, ""},
		"the archive cannot be read":               {func(time.Time) *state.Archive { return &state.Archive{Begun: true, Unread: unread} }, v1beta2.ReasonArchiveStarting, unread},
		"a part of the archive is damaged": {func(time.Time) *state.Archive {
			return &state.Archive{Begun: true, Surveyed: true, Covered: true, Corrupt: true, Unread: unread}
		}, v1beta2.ReasonArchiveCorrupt, unread},
	} {
		s := statetest.ArchivingState(t)
		s.Status = NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
		s.Archive = test.archive(s.Now)
		c := state.ConditionOf(NewStatus(s, plan.Scheduled{At: s.Status.NextTime.Time}, nil).Conditions, v1beta2.ConditionArchiving)
		if want := test.reason == v1beta2.ReasonArchiving; c.Reason != test.reason || !strings.Contains(c.Message, test.text) || (c.Status == metav1.ConditionTrue) != want {
			t.Errorf("%s: %+v, want reason %s and %q", name, c, test.reason, test.text)
		}
	}
}

// A user has changed the path, and the new bucket does not accept the first snapshot. The status still named the ranges of the earlier folder,
// which a restore from this EtcdBackup does not find.
func TestAnArchiveInAnotherFolderIsNotReported(t *testing.T) {
	s := statetest.ArchivingState(t)
	s.Status = NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
	archived := s.Archive
	s.Generation++
	s.Spec.S3 = &v1beta2.S3Source{Path: "bucket/elsewhere"}
	s.Target, s.Problem = state.TargetOf(s.Namespace, s.Name, s.Spec)
	for _, view := range []*state.Archive{archived, {Idle: s.Now}, {Idle: s.Now, Want: "the archive begins"}, nil} {
		s.Archive = view
		s.Status = NewStatus(s, plan.Wait{Reason: v1beta2.ReasonClusterNotAvailable}, nil)
		c := state.ConditionOf(s.Status.Conditions, v1beta2.ConditionArchiving)
		if s.Status.Recoverable != nil || c.Status == metav1.ConditionTrue || strings.Contains(c.Message, "Revision 20") {
			t.Errorf("with the view %+v, the status has %+v and the ranges %v", view, c, s.Status.Recoverable)
		}
	}
	s.Archive = archived // a snapshot is in the new folder, and the status does not show it yet
	if s.Status = NewStatus(s, plan.Wait{Reason: v1beta2.ReasonClusterNotAvailable}, nil); len(s.Status.Recoverable) != 1 {
		t.Errorf("the archive in the new folder has the ranges %v", s.Status.Recoverable)
	}
}
