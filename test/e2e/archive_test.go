package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

const (
	archiveLag = 5 * time.Second
	// uploadLimit is how long the upload of a segment may take on a busy machine.
	uploadLimit = 2 * time.Second
	// statusLag is how much older than the archive the status may be while there are writes.
	statusLag = 10 * time.Second
)

// promised is the number of writes that must survive a loss of the cluster at that time.
func (t *traffic) promised(lost time.Time) (count int) {
	return t.older(lost, archiveLag+uploadLimit)
}

// older is the number of writes that were acknowledged so long before a time.
func (t *traffic) older(then time.Time, age time.Duration) (count int) {
	for count < len(t.acknowledged) && then.Sub(t.acknowledged[count].at) > age {
		count++
	}
	return count
}

// shown is the newest revision that the status shows as recoverable.
func (n *namespaced) shown(name string) (last int64) {
	n.Helper()
	backup, err := n.backup(n.Context(), name)
	if err != nil {
		n.Fatal(err)
	}
	for _, r := range backup.Status.Recoverable {
		last = max(last, r.To.Revision)
	}
	return last
}

// If this fails, a user who loses a whole cluster loses more than spec.continuous.maxLag promises.
func TestNoAcknowledgedWriteOlderThanMaxLagIsLostWithTheWholeCluster(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.applyFile("examples/secret-s3.yaml")
	n.apply(three)
	n.ready("three")
	n.apply(s3Backup("archive", ofCluster("three"), stack.Bucket+"/"+n.name+"/archive") + `
  backupPolicy: {schedule: "0 3 * * *"}
  continuous: {maxLag: 5s, window: 24h}
`)
	becomes(n, &v1beta2.EtcdBackup{}, "archive", v1beta2.ConditionArchiving)
	traffic := n.traffic("three", nil)
	<-time.After(4*archiveLag + time.Duration(rand.Int64N(int64(archiveLag))))
	shown, lost := n.shown("archive"), time.Now()
	n.kubectl("delete", "pvc", "--all", "--wait=false")
	n.kubectl("delete", "pods", "--all", "--force", "--grace-period=0")
	traffic.end()
	promised := traffic.promised(lost)
	if promised < 20 {
		t.Fatalf("only %d of %d writes were older than %s when the cluster was lost", promised, len(traffic.acknowledged), archiveLag+uploadLimit)
	}

	if old := traffic.older(lost, archiveLag+statusLag); shown < traffic.acknowledged[old-1].revision {
		t.Errorf("the status showed revision %d as recoverable, and %d writes were older than %s, the last one of revision %d", shown, old, archiveLag+statusLag, traffic.acknowledged[old-1].revision)
	}

	says(n, &v1beta2.EtcdCluster{}, "three", v1beta2.ConditionReady, v1beta2.ReasonQuorumLost, "EtcdRestore")
	n.apply(fmt.Sprintf(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdRestore
metadata: {name: back}
spec:
  etcdCluster: {name: three}
  etcdBackup: {name: archive}
  select: {revision: %d}
`, n.recoverable("archive", traffic.acknowledged[promised-1].revision)))
	becomes(n, &v1beta2.EtcdRestore{}, "back", v1beta2.ConditionComplete)
	n.ready("three")
	t.Logf("%d of %d acknowledged writes were older than %s when the cluster was lost", promised, len(traffic.acknowledged), archiveLag+uploadLimit)
	traffic.kept(promised)
}

// recoverable waits until the status has at least that revision, and returns the last one that can be restored.
func (n *namespaced) recoverable(name string, revision int64) (last int64) {
	n.Helper()
	n.eventually(fmt.Sprintf("revision %d can be restored", revision), func(ctx context.Context) error {
		backup, err := n.backup(ctx, name)
		if err != nil {
			return err
		}
		for _, r := range backup.Status.Recoverable {
			last = max(last, r.To.Revision)
		}
		if last < revision {
			return fmt.Errorf("the last revision is %d", last)
		}
		return nil
	})
	return last
}
