package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/localkube/cluster"
	"github.com/etcd-suite/etcd-operator/test/netpolicy"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

// alone is a cluster whose member is a Pod that is no member of the cluster three.
const alone = `
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: alone}
spec: {size: 1, version: "3.6.16", pod: {emptyDir: {}}}
`

// ports are those of a member.
var ports = []int32{v1beta2.ClientPort, v1beta2.PeerPort, v1beta2.MetricsPort}

// enforce blocks, until the test ends, what the NetworkPolicies of the test's namespace do not allow between the Pods of some namespaces.
func (n *namespaced) enforce(namespaces ...string) {
	n.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(n.Context()))
	ended := make(chan struct{})
	n.Cleanup(func() {
		cancel()
		<-ended
		if err := suite.Local.BlockPorts(context.Background()); err != nil {
			n.Error(err)
		}
	})
	go func() {
		defer close(ended)
		var last []cluster.BlockedPort
		for ticks := time.NewTicker(500 * time.Millisecond); ctx.Err() == nil; {
			blocked, err := n.denied(ctx, namespaces)
			if err == nil && !slices.Equal(blocked, last) {
				err = suite.Local.BlockPorts(ctx, blocked...)
				last = blocked
			}
			if err != nil && ctx.Err() == nil {
				n.Errorf("enforce the NetworkPolicies: %v", err)
				return
			}
			select {
			case <-ctx.Done():
			case <-ticks.C:
			}
		}
	}()
}

// denied returns the connections to Pods of the test's namespace that its NetworkPolicies do not allow.
func (n *namespaced) denied(ctx context.Context, namespaces []string) (blocked []cluster.BlockedPort, err error) {
	var policies networkingv1.NetworkPolicyList
	if err := suite.Client.List(ctx, &policies, client.InNamespace(n.name)); err != nil {
		return nil, err
	}
	var ends []netpolicy.End
	for _, namespace := range namespaces {
		var pods corev1.PodList
		if err := suite.Client.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
		for _, pod := range pods.Items {
			if pod.Status.PodIP != "" {
				labels := map[string]string{corev1.LabelMetadataName: namespace}
				ends = append(ends, netpolicy.End{Namespace: namespace, NamespaceLabels: labels, Labels: pod.Labels, Address: pod.Status.PodIP})
			}
		}
	}
	for _, to := range ends {
		for _, from := range ends {
			for _, port := range ports {
				if to.Namespace == n.name && from.Address != to.Address && !netpolicy.Allows(policies.Items, from, to, port) {
					blocked = append(blocked, cluster.BlockedPort{From: from.Address, To: to.Address, Port: port})
				}
			}
		}
	}
	return blocked, nil
}

// reaches reports whether a TCP connection from the Pod of a member to each member of the cluster three opens.
func (n *namespaced) reaches(ctx context.Context, from string, port int32) (all, none bool) {
	n.Helper()
	all, none = true, true
	for _, pod := range n.pods("three") {
		if pod.Name == from {
			continue
		}
		dial := fmt.Sprintf("exec 3<>/dev/tcp/%s/%d", pod.Status.PodIP, port)
		opens := exec.CommandContext(ctx, "nsenter", "--target", strconv.Itoa(n.process(from)), "--net", "timeout", "2", "bash", "-c", dial).Run() == nil
		all, none = all && opens, none && !opens
	}
	return all, none
}

// nameOfOne returns the name of a member of a cluster.
func (n *namespaced) nameOfOne(cluster string) string {
	n.Helper()
	for name := range n.pods(cluster) {
		return name
	}
	n.Fatalf("cluster %s has no Pod", cluster)
	return ""
}

func TestANetworkPolicyLimitsWhoConnectsAndNothingElse(t *testing.T) {
	if suite.Local == nil {
		t.Skip("this needs the nodes of the local Kubernetes")
	}
	n, other := begin(t), begin(t)
	other.apply(alone)
	other.ready("alone")
	n.applyFile("examples/secret-s3.yaml")
	n.apply(alone, three)
	n.ready("alone")
	n.ready("three")
	n.enforce(n.name, other.name, stack.Namespace)
	n.patch("three", `{"spec":{"networkPolicy":{}}}`)

	sibling, stranger := n.nameOfOne("alone"), other.nameOfOne("alone")
	n.eventually("a Pod of another namespace is no client", func(ctx context.Context) error {
		if _, none := n.reaches(ctx, stranger, v1beta2.ClientPort); !none {
			return fmt.Errorf("Pod %s reaches port %d", stranger, v1beta2.ClientPort)
		}
		return nil
	})
	expect := func(when string) {
		t.Helper()
		n.eventually(when+", the NetworkPolicy allows what it should", func(ctx context.Context) error {
			if _, none := n.reaches(ctx, sibling, v1beta2.PeerPort); !none {
				return errors.New("a Pod without the label of a member reaches the peer port")
			}
			if all, _ := n.reaches(ctx, sibling, v1beta2.ClientPort); !all {
				return errors.New("a client of the namespace does not reach all members")
			}
			if all, _ := n.reaches(ctx, n.nameOfOne("three"), v1beta2.PeerPort); !all {
				return errors.New("a member does not reach the peer port of all others")
			}
			return nil
		})
	}
	expect("in a running cluster")

	n.put(n.etcd("three", nil), "key", 20)
	path := stack.Bucket + "/" + n.name + "/saved.db"
	n.apply(s3Backup("saved", ofCluster("three"), path))
	becomes(n, &v1beta2.EtcdBackup{}, "saved", v1beta2.ConditionComplete)
	n.scales("three", 5, 5)
	n.ready("three")
	expect("after a scale-up")
	n.apply(s3Restore("back", "three", path))
	becomes(n, &v1beta2.EtcdRestore{}, "back", v1beta2.ConditionComplete)
	n.ready("three")
	n.has(n.etcd("three", nil), "key", 20)
	expect("after a restore")
}
