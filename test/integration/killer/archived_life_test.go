package killer_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// TestAnArchiveGoesOnWhenItsClusterIsHibernatedOrUpgraded also lets etcd be compacted beyond what is archived.
func TestAnArchiveGoesOnWhenItsClusterIsHibernatedOrUpgraded(t *testing.T) {
	t.Parallel()
	a := newArchived(t, v1beta2.EtcdClusterSpec{Size: 3, Version: older})
	a.archiving()
	stop := a.traffic.run()
	a.writes()
	a.record()

	a.in("hibernated and resumed, it continues the same timeline", func(a *archived) {
		a.traffic.paused(func() {
			a.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Hibernate = true })
			a.operate(&killer.Count{}, "hibernate the cluster", a.isReady)
			a.stopped(v1beta2.ReasonClusterNotAvailable)
			a.statusNames("hibernated", "EtcdCluster example: Hibernated", "set spec.hibernate to false")
			a.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Hibernate = false })
			a.operate(&killer.Count{}, "resume the cluster", a.isReady)
		})
		a.writes()
		a.record()
		a.archiving()
	})
	a.in("upgraded while clients write, it continues the same timeline", func(a *archived) {
		a.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Version = newer })
		a.operate(&killer.Count{}, "upgrade the cluster", a.isReady)
		a.writes()
		last := a.record()
		if a.cluster.Status.CurrentVersion != newer || last.timeline != 1 {
			a.Errorf("the version is %s, and the archive has timeline %d, want 1", a.cluster.Status.CurrentVersion, last.timeline)
		}
		kubetest.Await(a, a.series, "report one range", func(s *v1beta2.EtcdBackup) bool { return len(s.Status.Recoverable) == 1 })
	})
	var lost kept
	a.in("compacted beyond what is archived, it has a gap and continues behind it", func(a *archived) {
		a.stop()
		a.writes()
		a.traffic.paused(func() { lost = a.hash() })
		a.writes()
		a.traffic.paused(a.compact)
		a.start()
		kubetest.Await(a, a.series, "report two ranges", func(s *v1beta2.EtcdBackup) bool { return len(s.Status.Recoverable) == 2 })
		a.archiving()
		a.writes()
		a.record()
	})
	stop()
	a.traffic.check()
	ranges := a.ranges()
	if len(ranges) != 2 || ranges[0].Timeline != 1 || ranges[1].Timeline != 1 || ranges[0].To.Revision >= lost.revision || ranges[1].From.Revision <= lost.revision {
		t.Fatalf("the ranges are %+v, want two with revision %d between them", ranges, lost.revision)
	}
	a.restorable(ranges)
	a.refuses(lost.revision)
}

// writes waits until clients have written some more keys.
func (a *archived) writes() {
	a.Helper()
	before := a.traffic.count()
	kubetest.Eventually(a, "clients write", func(context.Context) error {
		if n := a.traffic.count() - before; n < 20 {
			return fmt.Errorf("%d writes were acknowledged", n)
		}
		return nil
	})
}
