package v1beta2

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// If this returns true for an EtcdRestore that cluster-operator never begins, all later ones of the cluster wait for it without an end.
func TestAClusterBeginsOnlyAnEtcdRestoreThatIsVerifiedAndOpen(t *testing.T) {
	is := func(kind string, status metav1.ConditionStatus) func(*EtcdRestore) {
		return func(r *EtcdRestore) {
			meta.SetStatusCondition(&r.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: "Reason"})
		}
	}
	for name, test := range map[string]struct {
		change func(*EtcdRestore)
		want   bool
	}{
		"verified":          {func(*EtcdRestore) {}, true},
		"a standby":         {func(r *EtcdRestore) { r.Status.Source, r.Status.Follow = nil, &RestoreFollowStatus{} }, true},
		"not verified yet":  {is(ConditionVerified, metav1.ConditionFalse), false},
		"without snapshot":  {func(r *EtcdRestore) { r.Status.Snapshot = nil }, false},
		"without source":    {func(r *EtcdRestore) { r.Status.Source = nil }, false},
		"failed":            {is(ConditionFailed, metav1.ConditionTrue), false},
		"complete":          {is(ConditionComplete, metav1.ConditionTrue), false},
		"being deleted":     {func(r *EtcdRestore) { r.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Time} }, false},
		"a dry run":         {func(r *EtcdRestore) { r.Spec.DryRun = true }, false},
		"a few keys of one": {func(r *EtcdRestore) { r.Spec.Prefixes = []string{"/a/"} }, false},
	} {
		r := EtcdRestore{Status: EtcdRestoreStatus{Snapshot: &Snapshot{}, Source: &RestoreSource{}}}
		is(ConditionVerified, metav1.ConditionTrue)(&r)
		if test.change(&r); r.MayBegin() != test.want {
			t.Errorf("%s: may begin %t, want %t", name, !test.want, test.want)
		}
	}
}
