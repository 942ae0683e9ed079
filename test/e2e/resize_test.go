package e2e

import (
	"context"
	"fmt"
	"testing"
)

const oneWithResources = `
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: sized}
spec:
  size: 1
  version: "3.6.16"
  pod: {resources: {requests: {cpu: 50m, memory: 64Mi}}}
`

// The only member would be down while it restarts, only because it gets more memory.
func TestCPUAndMemoryChangeWithoutARestart(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.apply(oneWithResources)
	n.ready("sized")
	n.put(n.etcd("sized", nil), "key", 10)
	before := n.podUIDs("sized")
	n.kubectl("patch", "etcdcluster", "sized", "--type=merge", "-p", `{"spec":{"pod":{"resources":{"requests":{"cpu":"80m","memory":"96Mi"}}}}}`)
	n.eventually("the kubelet has changed the resources of the running container", func(context.Context) error {
		for name, pod := range n.pods("sized") {
			for _, status := range pod.Status.ContainerStatuses {
				if status.RestartCount > 0 || before[name] != string(pod.UID) {
					t.Fatalf("the member restarted: %+v", status)
				}
				if status.Resources == nil || status.Resources.Requests.Cpu().String() != "80m" || status.Resources.Requests.Memory().String() != "96Mi" {
					return fmt.Errorf("the resources are %+v", status.Resources)
				}
			}
		}
		return nil
	})
	n.ready("sized")
	n.has(n.etcd("sized", nil), "key", 10)
}
