package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// three is a minimal manifest of a cluster with three members.
const three = `
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: three}
spec: {size: 3, version: "3.6.16"}
`

func TestNewClusterGetsMembersVolumesServicesAndStatus(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.apply(three)
	cluster := n.ready("three")
	n.kubectl("wait", "etcdcluster/three", "--for=condition=Available", "--timeout=10s")

	status := cluster.Status
	if status.Phase != v1beta2.ClusterPhaseRunning || status.Size != 3 || status.ServiceName != "three-client" ||
		status.ClientPort != 2379 || len(status.Members.Ready) != 3 || len(status.Members.Unready) != 0 ||
		status.CurrentVersion != "3.6.16" || status.TargetVersion != "" || status.Incarnation != 1 || len(status.ClusterID) != 16 {
		t.Errorf("the status does not report a complete, running cluster of three members: %+v", status)
	}
	nodes := map[string]bool{}
	for _, pod := range n.pods("three") {
		nodes[pod.Spec.NodeName] = true
	}
	if suite.Local != nil && len(nodes) != 3 {
		t.Errorf("the three members run on %d nodes, expected 3: the loss of one node may break quorum", len(nodes))
	}
	var volumes corev1.PersistentVolumeClaimList
	if err := suite.Client.List(t.Context(), &volumes, client.InNamespace(n.name)); err != nil || len(volumes.Items) != 3 {
		t.Errorf("found %d volumes, expected 3, error %v", len(volumes.Items), err)
	}
	etcd := n.etcd("three", nil)
	n.put(etcd, "key", 10)
	n.has(etcd, "key", 10)
}

func TestDeletedPodIsRecreatedWithItsVolumeAndMemberID(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.apply(three)
	before := n.ready("three")
	etcd := n.etcd("three", nil)
	n.put(etcd, "key", 50)

	victim := before.Status.MemberStatuses[0].Name
	old := n.pods("three")[victim]
	n.kubectl("delete", "pod", victim, "--wait=false")
	n.eventually("the Pod of "+victim+" is recreated", func(ctx context.Context) error {
		var pod corev1.Pod
		if err := suite.Client.Get(ctx, client.ObjectKey{Namespace: n.name, Name: victim}, &pod); err != nil {
			return err
		}
		if pod.UID == old.UID {
			return fmt.Errorf("the old Pod still exists")
		}
		return nil
	})
	after := n.ready("three")
	if diff := cmp.Diff(memberIDs(before), memberIDs(after)); diff != "" {
		t.Errorf("the names or IDs of members changed (-before +after):\n%s", diff)
	}
	n.has(etcd, "key", 50)
}

// The archived operator lost all data when all members restarted (its issues 1323 and 2049).
func TestNoDataIsLostIfAllPodsAreDeletedAtOnce(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.apply(three)
	before := n.ready("three")
	n.put(n.etcd("three", nil), "key", 50)

	n.kubectl("delete", "pods", "-l", "etcd_cluster=three", "--force", "--grace-period=0")
	n.eventually("the cluster is not Ready", func(ctx context.Context) error {
		found, err := condition(ctx, n, &v1beta2.EtcdCluster{}, "three", v1beta2.ConditionReady)
		if err == nil && found.Status == metav1.ConditionTrue {
			return fmt.Errorf("the cluster is still Ready")
		}
		return err
	})
	after := n.ready("three")
	if before.Status.ClusterID != after.Status.ClusterID {
		t.Errorf("the cluster ID changed from %s to %s: the operator formed a new, empty cluster", before.Status.ClusterID, after.Status.ClusterID)
	}
	if diff := cmp.Diff(memberIDs(before), memberIDs(after)); diff != "" {
		t.Errorf("the names or IDs of members changed (-before +after):\n%s", diff)
	}
	n.has(n.etcd("three", nil), "key", 50)
}

func TestMemberWithALostVolumeIsReplaced(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.apply(three)
	before := n.ready("three")
	etcd := n.etcd("three", nil)
	n.put(etcd, "key", 50)

	victim := before.Status.MemberStatuses[1].Name
	n.kubectl("delete", "pvc", victim, "--wait=false")
	n.kubectl("delete", "pod", victim)
	n.eventually("member "+victim+" is replaced", func(ctx context.Context) error {
		var cluster v1beta2.EtcdCluster
		if err := suite.Client.Get(ctx, client.ObjectKey{Namespace: n.name, Name: "three"}, &cluster); err != nil {
			return err
		}
		ids := memberIDs(&cluster)
		if ids[victim] == memberIDs(before)[victim] || len(cluster.Status.Members.Ready) != 3 {
			return fmt.Errorf("the members are %v, ready %v", ids, cluster.Status.Members.Ready)
		}
		return nil
	})
	n.ready("three")
	n.has(etcd, "key", 50)
}

func TestKubectlScaleChangesTheSizeOfACluster(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.apply(three)
	n.ready("three")
	etcd := n.etcd("three", nil)
	n.put(etcd, "key", 50)
	traffic := n.traffic("three", nil)
	for _, size := range []int{5, 3, 1} {
		n.kubectl("scale", "etcdcluster/three", fmt.Sprintf("--replicas=%d", size))
		cluster := n.ready("three")
		if len(cluster.Status.Members.Ready) != size || len(n.pods("three")) != size {
			t.Errorf("after scaling to %d the members are %v, with %d Pods", size, cluster.Status.Members, len(n.pods("three")))
		}
		n.has(etcd, "key", 50)
	}
	traffic.stop("scaling 3 to 5 to 3 to 1").outagesAtMost(n, 3)
	n.eventually("the volumes of removed members are deleted", func(ctx context.Context) error {
		var volumes corev1.PersistentVolumeClaimList
		if err := suite.Client.List(ctx, &volumes, client.InNamespace(n.name)); err != nil {
			return err
		}
		if len(volumes.Items) != 1 {
			return fmt.Errorf("%d volumes exist, expected 1", len(volumes.Items))
		}
		return nil
	})
}

func TestMissingImageIsReportedAndAnotherVersionFixesIt(t *testing.T) {
	t.Parallel()
	if suite.Local == nil {
		t.Log("the nodes of this Kubernetes may be able to pull the image, so the status is not checked")
	}
	n := begin(t)
	n.apply(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: example-etcd-cluster}
spec:
  size: 3
  version: "3.2.13"
`)
	if suite.Local != nil {
		says(n, &v1beta2.EtcdCluster{}, "example-etcd-cluster", v1beta2.ConditionReady, v1beta2.ReasonImageUnavailable, "quay.io/coreos/etcd:v3.2.13", "spec.version")
		n.statusNames("example-etcd-cluster", "image-missing", "quay.io/coreos/etcd:v3.2.13", "Correct spec.image or spec.version")
	}
	n.kubectl("patch", "etcdcluster/example-etcd-cluster", "--type=merge", "-p", `{"spec":{"version":"3.6.16"}}`)
	n.ready("example-etcd-cluster")
}

func TestDeletedClusterLeavesNoObjectsBehind(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.apply(three)
	n.ready("three")
	n.kubectl("delete", "etcdcluster/three")
	n.eventually("all objects of the cluster are deleted", func(ctx context.Context) error {
		left, err := suite.Kubectl(ctx, "-n", n.name, "get", "pods,pvc,services", "-l", "etcd_cluster=three", "-o", "name", "--ignore-not-found")
		if err == nil && strings.TrimSpace(left) != "" {
			return fmt.Errorf("these objects still exist: %s", left)
		}
		if err != nil {
			return err
		}
		return nil
	})
	// A new cluster with the same name is independent of the deleted one.
	n.apply(slow)
	n.tlsChangeRefusedBeforeFormation("three")
	n.ready("three")
}

// slow is a cluster that takes at least 10 seconds to elect its first leader.
const slow = `
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: three}
spec:
  size: 3
  version: "3.6.16"
  pod:
    etcdEnv:
    - {name: ETCD_ELECTION_TIMEOUT, value: "10000"}
    - {name: ETCD_INITIAL_ELECTION_TICK_ADVANCE, value: "false"}
`

// tlsChangeRefusedBeforeFormation turns TLS on while the members are running but have not formed a cluster yet, and
// turns it off again. No member may restart.
func (n *namespaced) tlsChangeRefusedBeforeFormation(cluster string) {
	n.Helper()
	n.eventually("three members run", func(context.Context) error {
		running := 0
		for _, pod := range n.pods(cluster) {
			if statuses := pod.Status.ContainerStatuses; len(statuses) > 0 && statuses[0].State.Running != nil {
				running++
			}
		}
		if running != 3 {
			return fmt.Errorf("%d members run", running)
		}
		return nil
	})
	pods := n.podUIDs(cluster)
	n.patch(cluster, `{"spec":{"TLS":{"managed":{}}}}`)
	says(n, &v1beta2.EtcdCluster{}, cluster, v1beta2.ConditionStalled, v1beta2.ReasonTLSChangeNotSupported, "set spec.TLS back", "it has served no client yet")
	n.statusNames(cluster, "tls-changed", "TLSChangeNotSupported", "Set spec.TLS back")
	n.patch(cluster, `{"spec":{"TLS":null}}`)
	n.ready(cluster)
	if diff := cmp.Diff(pods, n.podUIDs(cluster)); diff != "" {
		n.Errorf("members were restarted (-before +after):\n%s", diff)
	}
}
