package region

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// promisedLoss is maxLag of the archive and one second.
const promisedLoss = time.Second + time.Second

// If this fails, a team that keeps a standby in a second region loses writes when it moves its clients there, or more than the promised second of them when the first
// region is lost. Nothing but the store connects the two installations.
func TestAStandbyWithOperatorsOfItsOwnTakesOverFromALostRegion(t *testing.T) {
	if os.Getenv("TEST_BIN") == "" {
		t.Skip("this test needs a Kubernetes: run make e2e-region")
	}
	east, west := places(t)
	for _, name := range []string{"moved", "lost"} {
		east.apply(archived(name))
	}
	for _, name := range []string{"moved", "lost"} {
		until(east, "EtcdCluster "+name+" is archived", name, &v1beta2.EtcdBackup{}, func(b *v1beta2.EtcdBackup) error {
			return isTrue(b.Status.Conditions, v1beta2.ConditionArchiving)
		})
		until(east, "EtcdCluster "+name+" is Ready", name, &v1beta2.EtcdCluster{}, ready)
	}
	west.only(east)
	for _, name := range []string{"moved", "lost"} {
		west.apply(following(name, east))
	}
	for _, name := range []string{"moved", "lost"} {
		until(west, "the standby of "+name+" follows", name, &v1beta2.EtcdRestore{}, func(r *v1beta2.EtcdRestore) error {
			return isTrue(r.Status.Conditions, v1beta2.ConditionFollowing)
		})
	}
	t.Run("planned", func(t *testing.T) { movesWithoutALoss(east.in(t), west.in(t)) })
	t.Run("lost", func(t *testing.T) { losesTheLastSecond(east.in(t), west.in(t)) })
}

// in returns the place for a part of the test.
func (p place) in(t *testing.T) place {
	p.T = t
	return p
}

func isTrue(conditions []metav1.Condition, kind string) error {
	if !meta.IsStatusConditionTrue(conditions, kind) {
		return fmt.Errorf("condition %s is not True: %+v", kind, meta.FindStatusCondition(conditions, kind))
	}
	return nil
}

func ready(c *v1beta2.EtcdCluster) error {
	if c.Status.ObservedGeneration != c.Generation {
		return fmt.Errorf("generation %d is not observed yet", c.Generation)
	}
	return isTrue(c.Status.Conditions, v1beta2.ConditionReady)
}

// movesWithoutALoss promotes a standby as planned while a client of the source writes.
func movesWithoutALoss(east, west place) {
	writer := east.write("moved")
	west.promote("moved", string(v1beta2.FollowPromotePlanned))
	east.run("patch", "-n", east.name, "etcdbackup/moved", "--type=merge", "-p", `{"spec":{"continuous":{"switchover":true}}}`)
	source := until(east, "the source has ended", "moved", &v1beta2.EtcdBackup{}, func(b *v1beta2.EtcdBackup) error {
		if on := b.Status.Switchover; on == nil || on.Phase != v1beta2.SwitchoverPromoted {
			return fmt.Errorf("the switchover is %+v", on)
		}
		return nil
	})
	until(west, "the standby has become the cluster", "moved", &v1beta2.EtcdRestore{}, complete)
	until(west, "the promoted cluster is Ready", "moved", &v1beta2.EtcdCluster{}, ready)
	acknowledged, held := writer.end(), west.held("moved")
	for _, write := range acknowledged {
		if held[write.key] != write.revision {
			west.Errorf("%s was acknowledged with revision %d, and the promoted cluster has it with %d; the source has ended with %d", write.key, write.revision, held[write.key], source.Status.Switchover.Revision)
		}
	}
	west.Logf("%d writes were acknowledged, and the promoted cluster has each with its revision", len(acknowledged))
	if len(acknowledged) < 20 {
		west.Errorf("only %d writes were acknowledged", len(acknowledged))
	}
}

// losesTheLastSecond cuts all nodes of the source off at a random time, and promotes the standby with what is in the store.
func losesTheLastSecond(east, west place) {
	writer := east.write("lost")
	random := time.Duration(3000+rand.IntN(5000)) * time.Millisecond // a test
	west.Logf("the region is lost after %s", random)
	<-time.After(random)
	lost := time.Now()
	east.lose()
	west.promote("lost", string(v1beta2.FollowPromoteNow))
	until(west, "the standby has become the cluster", "lost", &v1beta2.EtcdRestore{}, complete)
	served := time.Since(lost)
	until(west, "the promoted cluster is Ready", "lost", &v1beta2.EtcdCluster{}, ready)
	held, without, oldest, before := west.held("lost"), 0, time.Duration(0), 0
	for _, write := range writer.end() {
		if write.at.After(lost) { // the nodes are cut off one after the other
			continue
		}
		before++
		if held[write.key] == 0 {
			without++
			oldest = max(oldest, lost.Sub(write.at))
		}
	}
	west.Logf("%d writes were acknowledged before the loss, %d of them are lost, the oldest is %s older than the loss; the promotion was complete after %s",
		before, without, oldest.Round(time.Millisecond), served.Round(time.Millisecond))
	if oldest > promisedLoss || before < 100 {
		west.Errorf("of %d acknowledged writes, one that is %s older than the loss is lost, and %s is promised", before, oldest, promisedLoss)
	}
}

func complete(r *v1beta2.EtcdRestore) error {
	return isTrue(r.Status.Conditions, v1beta2.ConditionComplete)
}
