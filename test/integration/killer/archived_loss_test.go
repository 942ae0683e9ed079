package killer_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// TestAnArchiveBeginsATimelineWhenItsClusterIsRestoredOrLosesItsQuorum lets the survivor have less than the archive. The recovered
// cluster then has the same cluster ID, as many revisions and the same last change. Only the changes before that differ.
func TestAnArchiveBeginsATimelineWhenItsClusterIsRestoredOrLosesItsQuorum(t *testing.T) {
	t.Parallel()
	a := newArchived(t, v1beta2.EtcdClusterSpec{Size: 3, Version: newer})
	a.archiving()
	a.put("early", "1")
	first := a.record()
	a.put("late", "1")
	a.record()

	a.in("restored in place to a point of the archive, it begins a timeline", func(a *archived) {
		r := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: a.cluster.Namespace, Name: "early"}}
		r.Spec = v1beta2.EtcdRestoreSpec{
			EtcdCluster: v1beta2.ClusterReference{Name: a.cluster.Name}, EtcdBackup: &v1beta2.BackupReference{Name: a.series.Name},
			Select: &v1beta2.SnapshotSelector{Revision: first.revision},
		}
		kubetest.Create(a, r)
		a.both("restore a point", func() error { return errors.Join(a.isReady(), a.is(r, v1beta2.ConditionComplete)) })
		if pairs := a.contents(); pairs["early"] != "1" || pairs["late"] != "" {
			a.Errorf("the restored cluster has %v", pairs)
		}
		a.put("after", "the restore")
		if got := a.record(); got.timeline != 2 {
			a.Errorf("after the restore, the archive has timeline %d, want 2", got.timeline)
		}
	})
	a.in("recovered from a member that has less than the archive, it begins a timeline", func(a *archived) {
		a.stop()
		survivor := a.follower()
		a.pods.Freeze(survivor)
		a.start()
		for range 3 {
			a.put("only in the archive", "1")
		}
		a.put("last", "in both")
		ahead := a.record()
		a.stop()
		a.loseAllBut(survivor)
		a.operate(&killer.Count{}, "report the lost quorum", func() error { return a.says(v1beta2.ReasonQuorumLost, "ForceNewCluster") })
		a.change(func(spec *v1beta2.EtcdClusterSpec) {
			spec.Recovery = &v1beta2.RecoveryPolicy{QuorumLoss: v1beta2.QuorumLossForceNewCluster}
		})
		a.operate(&killer.Count{}, "recover the quorum", a.isReady)
		for a.hash().revision < ahead.revision-1 {
			a.put("only in the recovered cluster", "1")
		}
		a.put("last", "in both")
		if now := a.hash(); now.revision != ahead.revision || now.hash == ahead.hash {
			a.Fatalf("the recovered cluster has %+v, want another history with the revision of %+v", now, ahead)
		}
		a.start()
		kubetest.Eventually(a, "timeline 3 begins", func(ctx context.Context) error { return a.began(ctx, 3) })
		a.put("after", "the recovery")
		a.record()
	})
	ranges := a.ranges()
	if len(ranges) != 3 {
		t.Errorf("the ranges are %+v, want three", ranges)
	}
	a.restorable(ranges)
}

// began returns no error if the archive in the store has that timeline.
func (a *archived) began(ctx context.Context, want archive.Timeline) error {
	histories, err := a.histories(ctx)
	if n := len(histories); err == nil && (n == 0 || histories[n-1].Start.Timeline != want) {
		err = fmt.Errorf("the archive has %d timelines", n)
	}
	return err
}

// put writes one key to the leader.
func (a *archived) put(key, value string) {
	a.Helper()
	leader := a.leader().Name
	for _, pod := range a.list() {
		if pod.Name == leader {
			if err := a.traffic.post(a.Context(), pod, "kv/put", map[string]any{"key": []byte(key), "value": []byte(value)}, nil); err != nil {
				a.Fatal(err)
			}
		}
	}
}

// loseAllBut loses all members but one that is frozen. That one starts again after the others have ended: if it only continued, it
// would receive what they have sent it meanwhile.
func (a *archived) loseAllBut(survivor string) {
	a.Helper()
	for _, pod := range a.list() {
		if pod.Name != survivor {
			a.delete(&corev1.PersistentVolumeClaim{}, pod.Name)
			a.delete(&corev1.Pod{}, pod.Name)
			a.pods.Kill(pod.Name)
		}
	}
	kubetest.Eventually(a, "the other members have ended", func(context.Context) error {
		if n := len(a.list()); n > 1 {
			return fmt.Errorf("%d Pods are left", n)
		}
		return nil
	})
	a.pods.Kill(survivor)
}

// follower returns a member that is not the leader, and has all that the leader has.
func (a *archived) follower() (name string) {
	a.Helper()
	leader, want := a.leader().Name, a.hash().revision
	kubetest.Eventually(a, "a follower has all data", func(ctx context.Context) error {
		for _, pod := range a.list() {
			err := a.ask(pod, func(member *etcd.Client) error {
				status, err := member.Status(ctx)
				if err == nil && pod.Name != leader && status.Revision == want {
					name = pod.Name
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		if name == "" {
			return errors.New("no follower has revision " + strconv.FormatInt(want, 10))
		}
		return nil
	})
	return name
}
