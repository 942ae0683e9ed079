package plantest

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// DefragmentedBy sets the policy of defragmentation.
func DefragmentedBy(p v1beta2.DefragmentationPolicy) Change {
	return func(s *state.State) { s.Spec.Defragmentation = &p }
}

// Nightly is a defragmentation at 3:00 in Berlin. Its last run was due the given time before noon, which is now.
func Nightly(ago time.Duration) Change {
	return func(s *state.State) {
		s.Spec.Defragmentation = &v1beta2.DefragmentationPolicy{Schedule: "0 3 * * *", TimeZone: "Europe/Berlin"}
		s.Defragmentation = &v1beta2.DefragmentationStatus{
			Schedule: "0 3 * * * Europe/Berlin", LastScheduleTime: ptr.To(metav1.NewTime(s.Now.Add(-ago))),
		}
	}
}

// Mi is a MiB in bytes.
const Mi = int64(1) << 20

// Database gives every member a database file and a size in use, in MiB, a quota of 100 MiB, and revision 5000.
func Database(file, used int64) Change {
	return func(s *state.State) {
		for i := range s.Members {
			Uses(file, used)(&s.Members[i])
		}
	}
}

// Uses gives a member what Database gives every member.
func Uses(file, used int64) func(*state.Member) {
	return func(m *state.Member) { m.DBSize, m.DBSizeInUse, m.DBQuota, m.Revision = file*Mi, used*Mi, 100*Mi, 5000 }
}

// Full means that a NOSPACE alarm is on for the second member.
func Full(s *state.State) {
	for i := range s.Members {
		s.Members[i].Alarms = []etcd.Alarm{{Kind: etcd.AlarmNoSpace, Member: 2}}
	}
}

// Compacted means that the operator compacted to a revision that long ago.
func Compacted(revision int64, ago time.Duration) Change {
	return func(s *state.State) {
		s.Space = &v1beta2.SpaceStatus{CompactedRevision: revision, CompactedAt: ptr.To(metav1.NewTime(s.Now.Add(-ago)))}
	}
}

// DefragmentedAgo means that the members were defragmented that long ago.
func DefragmentedAgo(i int, ago time.Duration) Change {
	return func(s *state.State) {
		if s.Defragmented == nil {
			s.Defragmented = map[string]time.Time{}
		}
		s.Defragmented[NameOf(i)] = s.Now.Add(-ago)
	}
}

// OnNoSpace sets what the operator does about a full quota.
func OnNoSpace(action v1beta2.NoSpaceAction, keep int64) Change {
	return func(s *state.State) { s.Spec.NoSpace = &v1beta2.NoSpacePolicy{Action: action, KeepRevisions: &keep} }
}

// QuotaEnv sets the quota by an environment variable of etcd.
func QuotaEnv(value string) Change {
	return Policy(v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: "ETCD_QUOTA_BACKEND_BYTES", Value: value}}})
}
