package cluster

import (
	"crypto/tls"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// The operator created the Pod only after the last member's read had timed out, after 2 seconds.
func TestADeletedPodIsReplacedWhileTheOtherMembersHang(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*view.View)
		created bool
	}{
		"two members hang, and the Pod of the third one is deleted": {change: func(v *view.View) { v.Members[2].Pod = state.PodNone }, created: true},
		"all three members hang":                                    {change: func(*view.View) {}},
		"the third member was removed from the cluster": {change: func(v *view.View) {
			v.Members[2].Pod, v.KnownVoters = state.PodNone, v.KnownVoters[:2]
		}},
		"the Pod and the volume of the third member are missing": {change: func(v *view.View) { v.Members[2].Pod, v.Members[2].Volume = state.PodNone, state.VolumeNone }},
		"the cluster has not formed":                             {change: func(v *view.View) { v.Members[2].Pod, v.ClusterID = state.PodNone, "" }},
		"the cluster is paused":                                  {change: func(v *view.View) { v.Members[2].Pod, v.Spec.Paused = state.PodNone, true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				t.Cleanup(func() { <-time.After(time.Minute) }) // by the clock of the test: all questions end
				r, v := beside(t)
				r.Events, r.questions.Wake = events.NewFakeRecorder(10), make(chan event.GenericEvent, 10)
				r.questions.Dial = func(etcd.Endpoint, *tls.Config) (members.Etcd, error) {
					return clustertest.FakeMember{Hangs: true}, nil
				}
				v.State = clustertest.State(plantest.Formed)
				for i, m := range clustertest.State(plantest.Formed, plantest.Members(3)).Members {
					v.Members = append(v.Members, state.Member{Name: m.Name, Incarnation: 1, Volume: m.Volume, Pod: m.Pod, PodReady: true, InService: true})
					v.Addresses[m.Name] = "192.0.2.1"
					v.KnownVoters = append(v.KnownVoters, v.Members[i].Name)
				}
				c.change(v)
				if r.questions.ObserveEtcd(t.Context(), v) {
					t.Fatal("members that hang have answered")
				}
				if err := r.createMissing(t.Context(), v); err != nil {
					t.Fatal(err)
				}
				var pods corev1.PodList
				if err := r.Client.List(t.Context(), &pods); err != nil {
					t.Fatal(err)
				}
				if created := len(pods.Items) == 1; created != c.created {
					step, rule := plan.Choose(v.State)
					t.Errorf("created %d Pods, the plan is %T %+v of %s", len(pods.Items), step, step, rule)
				}
			})
		})
	}
}
