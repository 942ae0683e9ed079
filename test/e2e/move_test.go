package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

// statefulSet is an etcd 3.5 that the operators did not create, without TLS.
const statefulSet = `
apiVersion: v1
kind: Service
metadata: {name: old-client}
spec:
  selector: {app: old}
  ports: [{port: 2379}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: old}
spec:
  serviceName: old-client
  selector: {matchLabels: {app: old}}
  template:
    metadata: {labels: {app: old}}
    spec:
      securityContext: {runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: etcd
        image: quay.io/coreos/etcd:v3.5.35
        command: [etcd, --data-dir=/data/etcd, "--listen-client-urls=http://0.0.0.0:2379", "--advertise-client-urls=http://old-client:2379"]
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
        volumeMounts: [{name: data, mountPath: /data}]
      volumes: [{name: data, emptyDir: {}}]
`

// promoted waits until the source says which standby has become the cluster, and returns its last revision.
func (n *namespaced) promoted(backup string) (last int64) {
	n.Helper()
	began, before := time.Now(), v1beta2.SwitchoverPhase("")
	n.eventually("a standby of "+backup+" becomes the cluster", func(ctx context.Context) error {
		found, err := n.backup(ctx, backup)
		if err != nil {
			return err
		}
		on := found.Status.Switchover
		if on != nil && on.Phase != before {
			before = on.Phase
			n.Logf("the switchover is %s after %s", before, time.Since(began).Round(time.Millisecond))
		}
		if on == nil || on.Phase != v1beta2.SwitchoverPromoted {
			return fmt.Errorf("the switchover is %+v", on)
		}
		last = on.Revision
		return nil
	})
	return last
}

// serves waits until a cluster returns the last revision to a client that connects now. A client that had no answer before waits for up to some seconds more: gRPC's pause.
func (n *namespaced) serves(cluster string, config *tls.Config, last int64) {
	n.Helper()
	n.eventuallyQuiet(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		etcd, err := suite.Etcd(ctx, n.name, cluster, config)
		if err != nil {
			return err
		}
		defer etcd.Close()
		answer, err := etcd.Get(ctx, "served")
		if err == nil && answer.Header.Revision < last {
			err = fmt.Errorf("revision %d is older than %d", answer.Header.Revision, last)
		}
		return err
	})
}

// If this fails, users who move an etcd to the operator lose writes that were acknowledged while they moved, or clients see revisions run backwards.
func TestAStatefulSetIsMovedToAnotherNamespaceWhileClientsWrite(t *testing.T) {
	t.Parallel()
	old, n := begin(t), begin(t)
	folder := stack.Bucket + "/" + old.name
	old.applyFile("examples/secret-s3.yaml")
	old.apply(statefulSet)
	old.kubectl("rollout", "status", "statefulset/old", "--timeout=2m")
	traffic := old.traffic("old", nil)
	old.apply(s3Backup("old", `etcdEndpoints: ["http://old-client.`+old.name+`.svc:2379"]`, folder) + `
  backupPolicy: {schedule: "0 3 * * *"}
  continuous: {maxLag: 1s}
`)
	becomes(old, &v1beta2.EtcdBackup{}, "old", v1beta2.ConditionArchiving)

	n.applyFile("examples/secret-s3.yaml")
	n.apply(s3Restore("move", "moved", folder+"/"+old.name+"/old")+`
  follow: {promote: Planned}
`, `
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: moved}
spec: {size: 3, version: "3.6.16", TLS: {managed: {}}}
`)
	becomes(n, &v1beta2.EtcdRestore{}, "move", v1beta2.ConditionFollowing)
	asked := time.Now()
	old.kubectl("patch", "etcdbackup/old", "--type=merge", "-p", `{"spec":{"continuous":{"switchover":true}}}`)
	last := old.promoted("old")
	config := n.reloadingConfig("moved-client-tls")
	n.serves("moved", config, last)
	served := time.Now()
	traffic.end()
	moved := n.etcd("moved", config)
	gap := served.Sub(traffic.acknowledged[len(traffic.acknowledged)-1].at)
	t.Logf("neither cluster took writes for %s; the new cluster served %s after the switchover was asked for; %d writes were acknowledged before",
		gap.Round(time.Millisecond), served.Sub(asked).Round(time.Millisecond), len(traffic.acknowledged))
	if allowed, err := time.ParseDuration(os.Getenv("E2E_MOVE_GAP")); err == nil && gap > allowed {
		t.Errorf("neither cluster took writes for %s", gap)
	}

	traffic.etcd = moved
	traffic.kept(len(traffic.acknowledged))
	if n := len(traffic.acknowledged); n < 20 || traffic.acknowledged[n-1].revision > last {
		t.Errorf("of %d acknowledged writes, the last one has revision %d, and the source has ended with %d", n, traffic.acknowledged[n-1].revision, last)
	}
	written := traffic.acknowledged[len(traffic.acknowledged)-1]
	n.eventuallyQuiet(func(ctx context.Context) error {
		answer, err := moved.Get(ctx, written.key)
		if err == nil && (len(answer.Kvs) != 1 || answer.Kvs[0].ModRevision != written.revision) {
			n.Errorf("the last write had revision %d, and the new cluster has %+v", written.revision, answer.Kvs)
		}
		return err
	})
	restore := becomes(n, &v1beta2.EtcdRestore{}, "move", v1beta2.ConditionComplete)
	if restore.Status.RestoredRevision != last || restore.Status.Follow == nil || restore.Status.Follow.Promoted == nil || !restore.Status.Follow.Promoted.Planned {
		t.Errorf("the source has ended with revision %d, and the status of the restore has %d and %+v", last, restore.Status.RestoredRevision, restore.Status.Follow)
	}
	n.ready("moved")
	if _, err := old.etcd("old", nil).Put(old.Context(), "split", "brain"); err == nil {
		t.Error("the old cluster takes writes beside the new one")
	}
}
