package members

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// The members of a read-only cluster have Pods of an earlier operator, which are not ready for the fence. The operator has just started, so it has no
// token, and etcd checks the password in 3 s, as on a busy machine. A member whose Pod is ready gets that time.
func TestAMemberBehindAFenceMayCheckAPasswordSlowly(t *testing.T) {
	for name, ready := range map[string]bool{"of this version": true, "of an earlier operator": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAsking(t)
				a.login = &clustertest.SlowPassword{Takes: 3 * time.Second}
				for range 20 {
					v := &view.View{State: clustertest.State(plantest.Formed), Addresses: map[string]string{}}
					v.Spec.ReadOnly = true
					for _, m := range clustertest.State(plantest.Formed, plantest.Members(3)).Members {
						m.PodReady, m.ProbesAlarm, m.InService, m.Answers, m.Serving, m.InMembership = ready, !ready, true, false, false, false
						v.Members = append(v.Members, m)
						v.Addresses[m.Name] = "192.0.2.1"
					}
					if a.q.ObserveEtcd(t.Context(), v) && v.Members[1].Serving {
						return
					}
					<-time.After(5 * time.Second)
				}
				t.Errorf("after 100 s, the member has not answered the operator. It was asked to check the password %d times", a.login.Tries.Load())
			})
		})
	}
}
