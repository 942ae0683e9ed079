package upgrade

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// restoringBeforeSwitch has a seed that no node accepts, because the only node with the label has the member that serves.
func restoringBeforeSwitch(s *site) {
	s.admit("node-2")
	s.create(1, "3.6.16", "")
	s.writeFirst()
	s.saved()
	s.restore("back", example, "saved", "")
	seeding := all(pods(1, 1), restoreIs(v1beta2.RestoreSeeding))
	s.eventually("the seed waits for a node", func(ctx context.Context) error { return seeding(ctx, s) })
}

// seedAgain deletes the Pod of the seed, and waits until the operator has created it again. A restore fails if its seed finds no node for 15
// minutes, and this time begins again with each Pod.
func seedAgain(s *site, _ int) {
	var seed corev1.Pod
	found, err := s.pods(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	for _, pod := range found {
		if pod.Spec.NodeName == "" {
			seed = pod
		}
	}
	s.kubectl("delete", "pod", seed.Name)
	s.eventually("the Pod of the seed is created again", func(ctx context.Context) error {
		now, err := get(ctx, s, &corev1.Pod{}, seed.Name)
		if err != nil {
			return err
		}
		if now.UID == seed.UID {
			return errors.New("the Pod still exists")
		}
		return s.holding(ctx)
	})
	if s.before, err = s.look(s.ctx); err != nil {
		s.Fatal(err)
	}
}

// restoringAfterSwitch has a seed that serves as the cluster, and two members that no node accepts.
func restoringAfterSwitch(s *site) {
	restoringBeforeSwitch(s)
	s.patch(`{"spec":{"size":3}}`)
	s.admit("node-3")
	// A write before the switch would be lost, as it must be.
	s.eventually("the seed serves", func(ctx context.Context) error { return restoreIs(v1beta2.RestoreGrowing)(ctx, s) })
}

// restored has carried out an EtcdRestore, which must not be carried out again. Another one waits for its EtcdCluster.
func restored(s *site) {
	s.admitAll()
	s.create(1, "3.6.16", "")
	s.writeFirst()
	s.saved()
	s.restore("back", example, "saved", "")
	becomes(s, &v1beta2.EtcdRestore{}, "back", v1beta2.ConditionComplete)
	s.ready()
	s.restore("waiting", "later", "saved", "")
}

func restoreIs(step v1beta2.RestoreStep) func(context.Context, *site) error {
	return func(ctx context.Context, s *site) error {
		cluster, err := s.cluster(ctx)
		if err != nil {
			return err
		}
		if cluster.Status.Restore == nil || cluster.Status.Restore.Step != step {
			return fmt.Errorf("the status has the restore %+v, expected the step %s", cluster.Status.Restore, step)
		}
		restore, err := get(ctx, s, &v1beta2.EtcdRestore{}, "back")
		if err != nil {
			return err
		}
		if step == v1beta2.RestoreComplete {
			return reports(restore, v1beta2.ConditionComplete)
		}
		return reports(restore, v1beta2.ConditionRestoring)
	}
}

func waitsForCluster(ctx context.Context, s *site) error {
	restore, err := get(ctx, s, &v1beta2.EtcdRestore{}, "waiting")
	if err != nil {
		return err
	}
	return reports(restore, v1beta2.ConditionReady, v1beta2.ReasonWaitingForCluster)
}

// finishRestore waits for the restore. What it replaces must be in the safety snapshot, if the operators had time to take one.
func finishRestore(s *site) {
	s.admitAll()
	restore := becomes(s, &v1beta2.EtcdRestore{}, "back", v1beta2.ConditionComplete)
	s.ready()
	if !s.rewinds {
		return
	}
	if _, revision := s.writer.until(); restore.Status.SafetySnapshot == nil || restore.Status.SafetySnapshot.Revision < revision {
		s.Errorf("the safety snapshot is %+v, expected one with revision %d or newer", restore.Status.SafetySnapshot, revision)
	}
}

// dryRun checks a snapshot: the spec of an EtcdRestore cannot change, so this is how a test sees that restore-operator works.
func dryRun(s *site, number int) {
	name := fmt.Sprintf("dry-%d", number)
	s.restore(name, example, "saved", "  dryRun: true")
	becomes(s, &v1beta2.EtcdRestore{}, name, v1beta2.ConditionReady, v1beta2.ReasonDryRun)
}

func waitingRestoreCompletes(s *site) {
	s.apply(otherCluster("later"))
	becomes(s, &v1beta2.EtcdRestore{}, "waiting", v1beta2.ConditionComplete)
	s.readBack(s.etcdOf("later", ""), 0)
}

// otherCluster is the manifest of a second cluster in the namespace.
func otherCluster(name string) string {
	return fmt.Sprintf(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: %s}
spec: {size: 1, version: "3.6.16"}
`, name)
}

// archiving has a continuous archive, and restore tests every minute.
func archiving(s *site) {
	s.admitAll()
	s.create(1, "3.6.16", "")
	s.writeFirst()
	s.backup("archive", `
  backupPolicy: {schedule: "0 3 * * *"}
  continuous: {maxLag: 5s, window: 24h}
`)
	s.backup("tested", `
  backupPolicy: {schedule: "0 3 * * *", immediate: true}
  drill: {schedule: "* * * * *"}
`)
	becomes(s, &v1beta2.EtcdBackup{}, "archive", v1beta2.ConditionArchiving)
	s.write() // the archive must not miss a change, so there are some from now on
	archiveAndTestsMove(s, 0)
}

// archives requires one unbroken range: a second one would be a hole in the history, in which nothing can be restored.
func archives(ctx context.Context, s *site) error {
	backup, err := get(ctx, s, &v1beta2.EtcdBackup{}, "archive")
	if err != nil {
		return err
	}
	if len(backup.Status.Recoverable) != 1 {
		return fmt.Errorf("the archive has the ranges %+v, expected one", backup.Status.Recoverable)
	}
	return reports(backup, v1beta2.ConditionArchiving)
}

// archiveAndTestsMove waits until the archive has all that is written by now, and until another restore test has passed.
func archiveAndTestsMove(s *site, _ int) {
	s.Helper()
	_, revision := s.writer.until()
	s.archived(revision)
	tested, err := get(s.ctx, s, &v1beta2.EtcdBackup{}, "tested")
	if err != nil {
		s.Fatal(err)
	}
	last := tested.Status.LastDrill
	s.eventually("another restore test has passed", func(ctx context.Context) error {
		now, err := get(ctx, s, &v1beta2.EtcdBackup{}, "tested")
		if err != nil {
			return err
		}
		if found := now.Status.LastDrill; found == nil || found.Result != v1beta2.DrillPassed || last != nil && !found.Time.After(last.Time.Time) {
			return fmt.Errorf("the last restore test is %+v", found)
		}
		return nil
	})
}

// archived waits until a revision can be restored.
func (s *site) archived(revision int64) {
	s.Helper()
	s.eventually(fmt.Sprintf("revision %d can be restored", revision), func(ctx context.Context) error {
		backup, err := get(ctx, s, &v1beta2.EtcdBackup{}, "archive")
		if err != nil {
			return err
		}
		for _, r := range backup.Status.Recoverable {
			if r.To.Revision >= revision {
				return nil
			}
		}
		return fmt.Errorf("the archive has the ranges %+v", backup.Status.Recoverable)
	})
}

// restorePoint restores the archive to the last write in another cluster. All writes of the whole test must be there.
func restorePoint(s *site) {
	count, revision := s.writer.until()
	s.archived(revision)
	s.restore("point", "copy", "archive", fmt.Sprintf("  select: {revision: %d}", revision))
	s.apply(otherCluster("copy"))
	becomes(s, &v1beta2.EtcdRestore{}, "point", v1beta2.ConditionComplete)
	s.readBack(s.etcdOf("copy", ""), count)
	s.ready()
}
