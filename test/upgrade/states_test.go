package upgrade

import (
	"context"
	"fmt"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// A state is one that lasts until its cause is removed.
type state struct {
	// name of the state, of the subtest and of the namespace.
	name string
	// reach brings the objects into the state.
	reach func(*site)
	// reasons that the condition Ready of the EtcdCluster may have. Without any it must be True.
	reasons []string
	// holds returns an error if the objects are not, or not yet, in the state. It is nil if the reason says all.
	holds func(context.Context, *site) error
	// moves waits until work goes on that is due in this state, after the change of that number. It is nil for none.
	moves func(s *site, number int)
	// release removes the cause and waits until all is done. It is nil if the nodes are the cause: new members may run on all of them then.
	release func(*site)
	// asleep: no member serves, so no client writes.
	asleep bool
	// rewinds: the restore of a snapshot ends the state, so writes since the snapshot are only in the safety snapshot.
	rewinds bool
}

// states are all states that last.
var states = []state{
	{name: "serving", reach: serving, release: freeze},
	{name: "growing", reach: growing, reasons: unscheduled, holds: pods(1, 1)},
	{name: "rolling", reach: rolling, reasons: unscheduled, holds: pods(2, 1)},
	{name: "upgrading", reach: upgrading, reasons: []string{v1beta2.ReasonImageUnavailable}, holds: all(pods(2, 1), halfUpgraded), release: finishUpgrade},
	{name: "restoring-before-switch", reach: restoringBeforeSwitch, reasons: unscheduled, holds: all(pods(1, 1), restoreIs(v1beta2.RestoreSeeding)), moves: seedAgain, release: finishRestore, rewinds: true},
	{name: "restoring-after-switch", reach: restoringAfterSwitch, reasons: unscheduled, holds: all(pods(1, 2), restoreIs(v1beta2.RestoreGrowing)), release: finishRestore},
	{name: "restored", reach: restored, holds: all(pods(1, 0), restoreIs(v1beta2.RestoreComplete), waitsForCluster), moves: dryRun, release: waitingRestoreCompletes},
	{name: "recovering", reach: recovering, reasons: unscheduled, holds: all(pods(1, 1), recoveryGrows)},
	{name: "hibernated", reach: hibernated, holds: pods(0, 0), release: wakeUp, asleep: true},
	{name: "rotating-ca", reach: rotatingCA, reasons: unscheduled, holds: all(pods(2, 1), twoCAs), release: finishRotation},
	{name: "waiting-for-clients-of-ca", reach: waitingForClients, holds: all(pods(1, 0), twoCAs), release: finishRotation},
	{name: "archiving", reach: archiving, holds: all(pods(1, 0), archives), moves: archiveAndTestsMove, release: restorePoint},
	{name: "foreign-member", reach: foreignMember, reasons: []string{v1beta2.ReasonForeignMember}, holds: pods(1, 0), release: removeForeign},
	{name: "paused", reach: paused, reasons: []string{v1beta2.ReasonPaused}, holds: pods(1, 0), release: resume},
}

var unscheduled = []string{v1beta2.ReasonPodUnschedulable}

// all requires several conditions.
func all(conditions ...func(context.Context, *site) error) func(context.Context, *site) error {
	return func(ctx context.Context, s *site) error {
		for _, holds := range conditions {
			if err := holds(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
}

// pods requires a number of Pods that are ready, and a number of others that stay as they are.
func pods(ready, others int) func(context.Context, *site) error {
	return func(ctx context.Context, s *site) error {
		found, err := s.pods(ctx)
		if err != nil {
			return err
		}
		readyFound, otherFound := 0, 0
		for _, pod := range found {
			if statuses := pod.Status.ContainerStatuses; len(statuses) > 0 && statuses[0].Ready {
				readyFound++
			} else {
				otherFound++
			}
		}
		if readyFound != ready || otherFound != others {
			return fmt.Errorf("%d Pods are ready and %d are not, expected %d and %d", readyFound, otherFound, ready, others)
		}
		return nil
	}
}

func serving(s *site) {
	s.admitAll()
	s.create(3, "3.6.16", "")
	s.writeFirst()
}

// freeze makes the cluster read-only. Its Pods are those of the earlier operator, so they are not ready while writes are refused. Clients must be
// able to read nevertheless, and no member may be replaced for that.
func freeze(s *site) {
	before, err := s.pods(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	s.patch(`{"spec":{"readOnly":true}}`)
	becomes(s, &v1beta2.EtcdCluster{}, example, v1beta2.ConditionReadOnly, v1beta2.ReasonReadOnly)
	s.eventually("the Pods of the earlier operator are not ready", func(ctx context.Context) error { return pods(0, 3)(ctx, s) })
	for range 5 {
		etcd := s.etcd()
		s.quietly(func(ctx context.Context) error { _, err := etcd.Get(ctx, "any"); return err })
		if _, err := etcd.Put(s.ctx, "refused", ""); err == nil {
			s.Error("a read-only cluster has acknowledged a write")
		}
		_ = etcd.Close()
	}
	if cluster := s.ready(); len(cluster.Status.Members.Ready) != 3 {
		s.Errorf("the status of a read-only cluster has the ready members %v", cluster.Status.Members.Ready)
	}
	s.patch(`{"spec":{"readOnly":false}}`)
	s.eventually("the Pods are ready again", func(ctx context.Context) error { return pods(3, 0)(ctx, s) })
	s.ready()
	after, err := s.pods(s.ctx)
	if diff := cmp.Diff(seenPods(before), seenPods(after)); err != nil || diff != "" {
		s.Errorf("members restarted, error %v:\n%s", err, diff)
	}
}

// growing has a learner that no node accepts.
func growing(s *site) {
	s.admit("node-1")
	s.create(1, "3.6.16", "")
	s.writeFirst()
	s.patch(`{"spec":{"size":2}}`)
}

// rolling has restarted a member that no node accepts any more.
func rolling(s *site) {
	s.admitAll()
	s.create(3, "3.6.16", "")
	s.writeFirst()
	s.admit()
	s.patch(`{"spec":{"pod":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-01-01T00:00:00Z"}}}}`)
}

// upgrading has converted the data for another minor version, and stopped the first member for an image that no node has.
func upgrading(s *site) {
	s.admitAll()
	s.create(3, "3.6.16", "")
	s.writeFirst()
	s.patch(`{"spec":{"version":"3.7.2"}}`)
}

func halfUpgraded(ctx context.Context, s *site) error {
	cluster, err := s.cluster(ctx)
	if err == nil && (cluster.Status.VersionChange == nil || cluster.Status.VersionChange.Step != v1beta2.VersionChangeReady) {
		err = fmt.Errorf("the data is not prepared for the next version: %+v", cluster.Status.VersionChange)
	}
	return err
}

func finishUpgrade(s *site) {
	s.patch(`{"spec":{"version":"3.7.3"}}`)
	if version := s.ready().Status.CurrentVersion; version != "3.7.3" {
		s.Errorf("the members run etcd %s, expected 3.7.3", version)
	}
}

func hibernated(s *site) {
	s.admitAll()
	s.create(1, "3.6.16", "")
	s.writeFirst()
	s.patch(`{"spec":{"hibernate":true}}`)
	becomes(s, &v1beta2.EtcdCluster{}, example, v1beta2.ConditionReady, v1beta2.ReasonHibernated)
}

func wakeUp(s *site) {
	s.patch(`{"spec":{"hibernate":false}}`)
	s.ready()
}

func paused(s *site) {
	s.admitAll()
	s.create(1, "3.5.35", "")
	s.writeFirst()
	s.patch(`{"spec":{"paused":true,"version":"3.6.16"}}`)
}

func resume(s *site) {
	if cluster, err := s.cluster(s.ctx); err != nil || cluster.Status.CurrentVersion != "3.5.35" {
		s.Errorf("the paused cluster runs etcd %s, expected 3.5.35; error %v", cluster.Status.CurrentVersion, err)
	}
	s.patch(`{"spec":{"paused":false}}`)
	if version := s.ready().Status.CurrentVersion; version != "3.6.16" {
		s.Errorf("the resumed cluster runs etcd %s, expected 3.6.16", version)
	}
}

// foreignMember has a learner that the operator did not add, as during a migration.
func foreignMember(s *site) {
	s.admitAll()
	s.create(1, "3.6.16", "")
	s.writeFirst()
	etcd := s.etcd()
	defer etcd.Close()
	s.quietly(func(ctx context.Context) error {
		_, err := etcd.MemberAddAsLearner(ctx, []string{"http://foreign.example.com:2380"})
		return err
	})
}

func removeForeign(s *site) {
	cluster, err := s.cluster(s.ctx)
	if err != nil || len(cluster.Status.ForeignMembers) != 1 {
		s.Fatalf("the status has the foreign members %+v, expected one; error %v", cluster.Status.ForeignMembers, err)
	}
	s.kubectl("annotate", "etcdcluster", example, v1beta2.AnnotationRemoveForeign+"="+cluster.Status.ForeignMembers[0].ID)
	s.ready()
}
