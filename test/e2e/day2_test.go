package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestADrainTakesOneMemberAndNeverQuorum(t *testing.T) {
	n := begin(t)
	n.apply(three)
	before := n.ready("three")
	client := n.traffic("three", nil)

	hosts := map[string]string{} // member of each host
	var order []string
	for name, pod := range n.pods("three") {
		hosts[pod.Spec.NodeName] = name
		order = append(order, pod.Spec.NodeName)
	}
	if len(hosts) != 3 {
		t.Fatalf("three members stand on %d hosts: there is no host to drain alone", len(hosts))
	}
	drain := func(ctx context.Context, host, limit string) (string, error) {
		return suite.Kubectl(ctx, "drain", host, "--pod-selector=etcd_cluster=three", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout="+limit)
	}
	uncordon := func(host string) {
		if _, err := suite.Kubectl(context.WithoutCancel(t.Context()), "uncordon", host); err != nil {
			t.Error(err)
		}
	}
	first, second := order[0], order[1]
	t.Cleanup(func() { uncordon(first); uncordon(second) })
	n.eventually("the first host is drained", func(ctx context.Context) error {
		_, err := drain(ctx, first, "30s")
		return err
	})
	if said, err := drain(t.Context(), second, "3s"); err == nil || !strings.Contains(err.Error()+said, "disruption budget") {
		t.Errorf("the drain of a second host is not held up: %v\n%s", err, said)
	}
	uncordon(second)
	uncordon(first)
	n.ready("three")
	n.eventually("the second host is drained once the first is back", func(ctx context.Context) error {
		_, err := drain(ctx, second, "30s")
		return err
	})
	uncordon(second)
	after := n.ready("three")
	if diff := cmp.Diff(memberIDs(before), memberIDs(after)); diff != "" {
		t.Errorf("members changed (-before +after):\n%s", diff)
	}
	if saw := client.stop("two drains"); saw.failed > 0 {
		t.Errorf("%d requests failed", saw.failed)
	}
	if names := n.kubectl("get", "pdb", "-o", "name"); !strings.Contains(names, "three") {
		t.Errorf("PodDisruptionBudgets: %s", names)
	}
}
