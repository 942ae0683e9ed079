package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/status"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

func withPast(s *state.State) {
	s.Cluster.Status.ClusterID = "00000000000000bb"
	s.Cluster.Status.PastRestores = []v1beta2.PastRestore{{
		Name: s.Restore.Name, UID: "uid-first", SpecHash: s.Restore.Spec.Hash(), Time: metav1.NewTime(now), ClusterID: "00000000000000bb",
	}}
}

func withReplaces(id string) func(*state.State) {
	return func(s *state.State) { s.Restore.Spec.Replaces = id }
}

func TestARestoreThatTheClusterCarriedOutFailsBeforeItsSnapshotIsRead(t *testing.T) {
	for name, test := range map[string]struct {
		state state.State
		says  []string
	}{
		"the same restore a second time":                   {given(withPast), []string{"2026-03-04T05:06:07Z", `spec.replaces: "00000000000000bb"`}},
		"the same EtcdRestore without its status":          {given(withPast, func(s *state.State) { s.Restore.UID = "uid-first" }), []string{"2026-03-04T05:06:07Z"}},
		"the same restore a second time, already verified": {given(withPast, withProven), []string{"2026-03-04T05:06:07Z", `spec.replaces: "00000000000000bb"`}},
		"a restore that replaces an earlier cluster":       {given(withPast, withReplaces("00000000000000aa")), []string{"spec.replaces is 00000000000000aa", `spec.replaces: "00000000000000bb"`}},
		"a restore that coreos/etcd-operator tried":        {given(func(s *state.State) { s.Restore.Status.Reason = "no such object" }), []string{"no such object. EtcdCluster example was not changed"}},
	} {
		t.Run(name, func(t *testing.T) {
			fail, is := next(test.state).(steps.Fail)
			if !is || fail.Reason != v1beta2.ReasonRestoreRefused {
				t.Fatalf("got %#v", next(test.state))
			}
			for _, say := range test.says {
				if !strings.Contains(fail.Message, say) {
					t.Errorf("the message lacks %q: %s", say, fail.Message)
				}
			}
		})
	}
	for name, state := range map[string]state.State{
		"with consent":           given(withPast, withReplaces("00000000000000bb")),
		"into a new cluster":     given(withPast, func(s *state.State) { s.Cluster.Status = v1beta2.EtcdClusterStatus{} }),
		"into a missing cluster": given(withoutCluster, withReplaces("00000000000000aa")),
		"for the first time":     given(func(s *state.State) { s.Cluster.Status.ClusterID = "00000000000000bb" }),
	} {
		t.Run("is carried out "+name, func(t *testing.T) {
			if diff := cmp.Diff(steps.Step(steps.Verify{Source: theSource}), next(state)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
	t.Run("is followed when its cluster ID has changed", func(t *testing.T) {
		s := given(withProven, withPast, withProgress(v1beta2.RestoreGrowing), withReplaces("00000000000000aa"))
		if diff := cmp.Diff(steps.Step(steps.Follow{Cluster: *progress(v1beta2.RestoreGrowing)}), next(s)); diff != "" {
			t.Errorf("want -, got +:\n%s", diff)
		}
	})
}

// coreos/etcd-operator left its EtcdRestores in the cluster, with status.succeeded and without conditions.
func TestARestoreThatTheEarlierOperatorFinishedIsNotRepeated(t *testing.T) {
	s := given(func(s *state.State) { s.Restore.Status.Succeeded = true })
	if diff := cmp.Diff(steps.Step(steps.Inherit{}), next(s)); diff != "" {
		t.Fatalf("want -, got +:\n%s", diff)
	}
	s.Restore.Status = status.New(s, steps.Inherit{}, nil)
	ready := meta.FindStatusCondition(s.Restore.Status.Conditions, v1beta2.ConditionReady)
	if !s.Restore.Status.Succeeded || s.Restore.Status.CompletionTime == nil || ready.Status != metav1.ConditionTrue || !strings.Contains(ready.Message, "Another operator") {
		t.Errorf("the status is %+v", s.Restore.Status)
	}
	if diff := cmp.Diff(steps.Step(steps.Done{}), next(s)); diff != "" {
		t.Errorf("after that: want -, got +:\n%s", diff)
	}
}
