package cluster

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The kernel deletes the link of a Pod some time after its last process ended. A CNI plugin that finds a route to the
// address of a new Pod keeps it, also if it leads to that old link.
func TestARestartedNodeHasNoLinkOrRouteOfItsEarlierPods(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("network namespaces need root")
		}
		t.Skip("network namespaces need root")
	}
	const address = "198.18.1.2"
	node, old := fmt.Sprintf("lktest-node-%d", os.Getpid()), fmt.Sprintf("lktest-pod-%d", os.Getpid())
	ip := func(args ...string) string {
		t.Helper()
		out, err := execute(t.Context(), "", append([]string{"ip"}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, namespace := range []string{node, old} {
		ip("netns", "add", namespace)
		defer ip("netns", "delete", namespace)
	}
	// eth0 is the node's own link, as connect makes it.
	ip("-n", node, "link", "add", "eth0", "type", "veth", "peer", "name", "port", "netns", old)
	ip("-n", node, "link", "add", "services", "type", "bridge")
	for _, pod := range []string{"veth1", "veth2"} {
		ip("-n", node, "link", "add", pod, "type", "veth", "peer", "name", "of-"+pod, "netns", old)
		ip("-n", node, "link", "set", pod, "up")
	}
	ip("-n", node, "route", "add", address, "dev", "veth1")
	for range 2 { // the second time there is nothing to delete
		if err := removePodLinks(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	}
	if links := ip("-n", node, "-o", "link"); strings.Contains(links, "veth") || !strings.Contains(links, " eth0@") || !strings.Contains(links, " services:") {
		t.Errorf("the node has the links\n%s", links)
	}
	if routes := ip("-n", node, "route"); strings.Contains(routes, address) {
		t.Errorf("the node has a route to the earlier Pod: %s", routes)
	}
}
