package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// defragmented counts how often a member is defragmented.
type defragmented struct {
	members.Etcd
	count  *int
	status etcd.Status
}

func (d defragmented) Status(context.Context) (etcd.Status, error) { return d.status, nil }
func (d defragmented) Defragment(context.Context) error            { *d.count++; return nil }
func (d defragmented) Close()                                      {}

// The watch of EtcdClusters hangs, so the cache never shows that a member was defragmented. A member that is defragmented again in each pass does
// not answer for most of the time.
func TestAMemberIsDefragmentedOnceWhileTheCacheIsBehind(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3))
	s.Spec.Defragmentation = &v1beta2.DefragmentationPolicy{Schedule: "0 3 * * *"}
	s.Defragmentation = &v1beta2.DefragmentationStatus{Schedule: "0 3 * * *", LastScheduleTime: &metav1.Time{Time: s.Now.Add(-24 * time.Hour)}}
	named := []v1beta2.MemberStatus{{Name: plantest.NameOf(0)}, {Name: plantest.NameOf(1)}, {Name: plantest.NameOf(2)}}
	r, cached := recorded(t, s, v1beta2.EtcdClusterStatus{MemberStatuses: named})
	cached.Status.MemberStatuses = named
	count := 0
	r.Events = events.NewFakeRecorder(99)
	r.questions.Dial = func(e etcd.Endpoint, _ *tls.Config) (members.Etcd, error) {
		for _, m := range s.Members {
			if state.ClientURL(s, m.Name) == e.URL {
				return defragmented{count: &count, status: etcd.Status{ClusterID: m.ClusterID, MemberID: m.ID}}, nil
			}
		}
		return nil, errors.New("no such member")
	}
	r.Now = func() time.Time { return s.Now }
	for pass := range 3 {
		v := &view.View{State: s, Cluster: cached.DeepCopy(), Repeats: &plan.Repeats{}, Waits: &state.Waiting{}, Addresses: map[string]string{plantest.NameOf(0): "192.0.2.1", plantest.NameOf(1): "192.0.2.2", plantest.NameOf(2): "192.0.2.3"}}
		step, _ := plan.Choose(v.State)
		if _, is := step.(steps.DefragmentMember); !is {
			t.Fatalf("pass %d: the step is %+v", pass, step)
		}
		err := r.actor.Act(t.Context(), v, step)
		if pass > 0 != errors.Is(err, view.ErrBehind) {
			t.Errorf("pass %d: error %v", pass, err)
		}
		if err == nil {
			_, err = r.report(t.Context(), v, step, nil)
			if err != nil {
				t.Fatal(err)
			}
		}
		s.Now = s.Now.Add(2 * time.Second)
	}
	if count != 1 {
		t.Errorf("the member was defragmented %d times", count)
	}
}
