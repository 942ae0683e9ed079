package plan_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/model"
)

// writesIn lets a world go on for a time, and counts the steps in it that write.
func writesIn(w *model.World, d time.Duration) (writes int, last plan.Step) {
	s, step := w.Pass(plan.Plan)
	for until := s.Now.Add(d); s.Now.Before(until); s, step = w.Pass(plan.Plan) {
		switch step.(type) {
		case plan.Wait, plan.Idle, plan.Done, plan.Hibernating, plan.AwaitResize:
			last = step
		default:
			writes++
		}
		w.Tick()
	}
	return writes, last
}

// A fault that lasts must not have the operator write without end: after an hour it writes at most once a minute.
func TestNoFaultMakesTheOperatorWriteMoreThanOnceAMinute(t *testing.T) {
	for number := 0; ; number++ {
		for _, durable := range []bool{true, false} {
			w := model.New(3, durable)
			w.Run(plan.Plan)
			said, ok := w.Inflict(number, rand.New(rand.NewPCG(1, uint64(number))))
			if !ok {
				return
			}
			writesIn(w, time.Hour)
			if writes, last := writesIn(w, time.Hour); writes > 60 {
				t.Errorf("%s (volumes: %t): %d writes in an hour, then %+v", said, durable, writes, last)
			}
		}
	}
}

// A kubelet that rejects Pods (OutOfcpu, TopologyAffinity) had them recreated every second.
func TestAPodThatNodesRejectIsRecreatedLessAndLessOften(t *testing.T) {
	for _, size := range []int{1, 3, 7} {
		for _, durable := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d members, volumes %t", size, durable), func(t *testing.T) {
				w := model.New(size, durable)
				w.Run(plan.Plan)
				w.Rejecting = true
				s, _ := w.Pass(plan.Plan)
				if err := w.Act(s, plan.DeletePod{Name: s.Members[0].Name}); err != nil {
					t.Fatal(err)
				}
				writesIn(w, time.Hour)
				writes, last := writesIn(w, time.Hour)
				if writes > 60 {
					t.Errorf("%d writes in an hour, then %+v", writes, last)
				}
				w.Rejecting = false
				if o := w.Run(plan.Plan); size > 1 && !o.Settled || durable && o.Last != plan.Step(plan.Done{}) {
					t.Errorf("after the node has room again: %+v", o.Last)
				}
			})
		}
	}
}
