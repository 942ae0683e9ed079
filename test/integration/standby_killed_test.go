package integration

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// The nodes of the operators fail while a cluster is moved. What a user would lose is the move: a standby that never serves while its source refuses
// writes, or one that serves less than what was acknowledged.
func TestAStandbyIsPromotedIfTheOperatorsAreKilledAtEveryCall(t *testing.T) {
	for _, how := range []v1beta2.FollowPromotion{v1beta2.FollowPromotePlanned, v1beta2.FollowPromoteNow} {
		t.Run(string(how), func(t *testing.T) {
			ofCluster, ofRestore := &killer.Chain{}, &killer.Chain{}
			b := &standbyBench{pointBench: newPointBench(t, "3.6", nil)}
			b.follow(ofCluster)
			b.reaches(b.write("first", 20))
			b.restores.stop() // before, each kill during the proof makes the next attempt wait for longer
			b.restores.startKilled(ofRestore)
			b.promote(how)
			if how == v1beta2.FollowPromotePlanned {
				b.handOver(true, v1beta2.SwitchoverPromoted)
			}
			want, err := everything(t.Context(), b.kv)
			if err != nil {
				t.Fatal(err)
			}
			b.serves(want)
			kubetest.AwaitCondition(t, b.restore, func(r *v1beta2.EtcdRestore) []metav1.Condition { return r.Status.Conditions }, v1beta2.ConditionComplete, metav1.ConditionTrue, v1beta2.ReasonComplete)
			t.Logf("cluster-operator was killed %d times in %d effects, and restore-operator %d times in %d", ofCluster.Kills(), ofCluster.Effects(), ofRestore.Kills(), ofRestore.Effects())
			if ofCluster.Kills() == 0 || ofRestore.Kills() == 0 {
				t.Error("the test tests too little: an operator was never killed")
			}
			if _, err := b.kv.Put(t.Context(), "after", "v"); err == nil && how == v1beta2.FollowPromotePlanned {
				t.Error("the source takes writes beside the standby that became the cluster")
			}
		})
	}
}

// startKilled runs restore-operator until the test ends, and starts it again each time policy kills it.
func (b *restoreBench) startKilled(policy killer.Policy) {
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			life := killer.NewLife(ctx, policy)
			stop := kubetest.RunManager(unheard{b.T}, b.namespace, b.setUp, func(c client.WithWatch) client.WithWatch { return life.Client(c, kubetest.Client(b)) })
			<-life.Context().Done()
			stop()
		}
	}()
	b.Cleanup(func() { end(); <-ended })
}

// unheard is a test that drops the messages of an operator, which are mostly errors of kills.
type unheard struct{ testing.TB }

func (unheard) Log(...any) {}
