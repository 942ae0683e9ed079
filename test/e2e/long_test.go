package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/test/stack"
)

const (
	// settleTime is how long an operator may react to a fault before writes are counted. It is longer than the five minutes
	// after which a member that does not serve is replaced.
	settleTime = 8 * time.Minute
	countTime  = 10 * time.Minute
	// countLimit is one write a minute.
	countLimit = 10
)

// longFaults maps the name of a cluster to the fault that it gets when it is Ready. Nobody removes the fault.
var longFaults = map[string]func(n *namespaced, cluster string){
	"images": func(n *namespaced, cluster string) {
		n.apply(fmt.Sprintf(rewritesImages, n.name, cluster))
		n.kubectl("delete", "pod", n.follower(cluster)) // its next Pod has the other image
	},
	"unschedulable": func(n *namespaced, cluster string) {
		n.kubectl("patch", "etcdcluster", cluster, "--type=merge", "-p", `{"spec":{"pod":{"nodeSelector":{"no-such":"node"}}}}`)
	},
	"quota": func(n *namespaced, cluster string) {
		n.kubectl("create", "quota", "full", "--hard=pods="+fmt.Sprint(len(n.allPods())))
		n.kubectl("scale", "etcdcluster/"+cluster, "--replicas=5")
	},
	"secret": func(n *namespaced, cluster string) {
		n.kubectl("patch", "etcdcluster", cluster, "--type=merge", "-p", `{"spec":{"auth":{"operatorSecret":"missing"}}}`)
	},
	"network": func(n *namespaced, cluster string) {
		var addresses []string
		for _, pod := range n.pods(cluster) {
			addresses = append(addresses, pod.Status.PodIP)
		}
		if err := suite.Local.BlockTraffic(n.Context(), n.operatorAddress(), addresses...); err != nil {
			n.Fatal(err)
		}
	},
	"node": func(n *namespaced, cluster string) {
		_, number := n.nodeWithoutOperator(cluster)
		if err := suite.Local.StopNode(n.Context(), number); err != nil {
			n.Fatal(err)
		}
	},
}

// longScreens is what kubectl etcd status shows of each: the name of the fault in test/faults, the cause and the remedy.
var longScreens = map[string][3]string{
	"images":        {"registry-unreachable", "mirror.example/etcd", "Correct spec.image"},
	"unschedulable": {"no-node-fits", "nodes are available", "nodeSelector"},
	"quota":         {"quota-of-pods", "exceeded quota: full", "raise the quota"},
	"secret":        {"user-missing", "Secret missing", "Create or correct the Secret"},
	"network":       {"network-blocked", "The operator cannot reach the members", "to reach port 2379"},
	"node":          {"node-lost", "is not ready", "the operator replaces it"},
}

const rewritesImages = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    objectSelector: {matchLabels: {etcd_cluster: %[2]s}}
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: '[JSONPatch{op: "replace", path: "/spec/containers/0/image", value: "mirror.example/etcd:" + object.spec.containers[0].image.split(":")[1]}]'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s}
`

// A fault may last all night. Until a person removes it, the operator must not write to the API server without end, and
// must not recreate Pods without end: both would hurt every other user of the Kubernetes.
func TestLongFaultsCauseAtMostOneWriteAMinute(t *testing.T) {
	if suite.Local == nil {
		t.Skip("this needs the nodes and the audit log of the local Kubernetes")
	}
	tests := map[string]*namespaced{}
	for cluster := range longFaults {
		n := begin(t)
		tests[cluster] = n
		n.apply(fmt.Sprintf("{apiVersion: etcd.database.coreos.com/v1beta2, kind: EtcdCluster, metadata: {name: %s}, spec: {size: 3, version: 3.6.16}}", cluster))
	}
	t.Cleanup(func() {
		ctx := context.Background()
		_, _ = suite.Kubectl(ctx, "delete", "mutatingadmissionpolicy,mutatingadmissionpolicybinding", tests["images"].name)
		_ = suite.Local.UnblockTraffic(ctx)
		for number := 1; number <= stack.Nodes; number++ {
			_ = suite.Local.StartNode(ctx, number) // those that run report an error
		}
	})
	for cluster, n := range tests {
		n.ready(cluster)
	}
	for cluster, fault := range longFaults {
		if cluster != "node" {
			fault(tests[cluster], cluster)
			tests[cluster].statusNames(cluster, longScreens[cluster][0], longScreens[cluster][1], longScreens[cluster][2])
		}
	}
	longFaults["node"](tests["node"], "node") // last, because members of the other clusters are on that node, too
	tests["node"].statusNames("node", longScreens["node"][0], longScreens["node"][1], longScreens["node"][2])
	wait(t, settleTime)
	before := map[string]map[string]string{}
	for cluster, n := range tests {
		before[cluster] = n.podUIDs(cluster)
	}
	began := time.Now()
	wait(t, countTime)
	for cluster, n := range tests {
		writes, refused := auditedWrites(t, n.name, began)
		t.Logf("%s: %d writes and %d refused requests in %s: %s", cluster, len(writes), refused, countTime, strings.Join(tally(writes), ", "))
		t.Logf("%s: %s", cluster, n.kubectl("get", "etcdcluster", cluster, "-o", "jsonpath={.status.conditions[?(@.type=='Ready')].message}"))
		if len(writes) > countLimit {
			t.Errorf("%s: %d writes in %s, the limit is %d", cluster, len(writes), countTime, countLimit)
		}
		for name, uid := range n.podUIDs(cluster) {
			if old, known := before[cluster][name]; known && old != uid {
				t.Errorf("%s: Pod %s was recreated", cluster, name)
			}
		}
	}
}

func wait(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	case <-time.After(d):
	}
}

func (n *namespaced) allPods() []corev1.Pod {
	n.Helper()
	var list corev1.PodList
	if err := suite.Client.List(n.Context(), &list, client.InNamespace(n.name)); err != nil {
		n.Fatal(err)
	}
	return list.Items
}

// operatorAddress returns the address of cluster-operator's Pod.
func (n *namespaced) operatorAddress() string {
	n.Helper()
	var list corev1.PodList
	if err := suite.Client.List(n.Context(), &list, client.InNamespace(stack.Namespace)); err != nil {
		n.Fatal(err)
	}
	for _, pod := range list.Items {
		if strings.Contains(pod.Name, "cluster-operator") && pod.DeletionTimestamp == nil {
			return pod.Status.PodIP
		}
	}
	n.Fatal("cluster-operator has no Pod")
	return ""
}

// auditEntry is the part of an audit event that a count needs.
type auditEntry struct {
	Verb       string
	RequestURI string
	Stamp      metav1.MicroTime                                        `json:"requestReceivedTimestamp"`
	Object     struct{ Resource, Subresource, Namespace, Name string } `json:"objectRef"`
	Response   struct{ Code int }                                      `json:"responseStatus"`
}

// auditedWrites returns the operators' successful writes in a namespace since a time, and counts the refused requests. A
// dry run is no write.
func auditedWrites(t *testing.T, namespace string, since time.Time) (writes []string, refused int) {
	t.Helper()
	content, err := os.ReadFile(suite.Local.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e auditEntry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			continue // the last line may be half written
		}
		switch {
		case e.Object.Namespace != namespace, e.Stamp.Time.Before(since), strings.Contains(e.RequestURI, "dryRun="):
		case e.Response.Code >= 300:
			refused++
		default:
			writes = append(writes, strings.TrimSuffix(e.Verb+" "+e.Object.Resource+"/"+e.Object.Subresource, "/"))
		}
	}
	return writes, refused
}

// tally counts equal strings: "3 patch events".
func tally(all []string) []string {
	counts := map[string]int{}
	for _, one := range all {
		counts[one]++
	}
	var lines []string
	for one, count := range counts {
		lines = append(lines, fmt.Sprintf("%d %s", count, one))
	}
	slices.Sort(lines)
	return lines
}
