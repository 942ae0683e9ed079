package cluster

import (
	"net/netip"
	"strings"
	"testing"
)

func TestAddressPlan(t *testing.T) {
	whole := netip.MustParsePrefix(wholeRange)
	t.Run("is within the range reserved for benchmarks", func(t *testing.T) {
		addresses := []string{firstService, dnsService, hostAddress, controlAddress}
		for _, n := range nodesUpTo(MaxNodes) {
			addresses = append(addresses, n.address(), netip.MustParsePrefix(n.pods()).Addr().String())
		}
		seen := map[string]bool{}
		for _, a := range addresses {
			if !whole.Contains(netip.MustParseAddr(a)) {
				t.Errorf("%s is outside %s", a, whole)
			}
			if seen[a] {
				t.Errorf("%s is assigned twice", a)
			}
			seen[a] = true
		}
	})
	t.Run("has exactly the Pods' addresses in the cluster CIDR of kube-proxy", func(t *testing.T) {
		all := netip.MustParsePrefix(allPods)
		for _, n := range nodesUpTo(MaxNodes) {
			if !all.Contains(netip.MustParsePrefix(n.pods()).Addr()) {
				t.Errorf("the Pods of %s have the range %s, which is outside %s", n, n.pods(), all)
			}
			if all.Contains(netip.MustParseAddr(n.address())) {
				t.Errorf("%s has the address %s, which is inside %s", n, n.address(), all)
			}
		}
		if all.Overlaps(netip.MustParsePrefix(services)) || all.Contains(netip.MustParseAddr(hostAddress)) {
			t.Errorf("%s overlaps the addresses of Services or of this machine", all)
		}
	})
}

func TestSocketPath(t *testing.T) {
	const most = 107 // of sockaddr_un
	longest := layout{state: "/" + strings.Repeat("x", maxStatePath-1)}.socket(MaxNodes)
	if len(longest) > most {
		t.Errorf("the longest allowed state directory has a socket path of %d bytes, the limit is %d", len(longest), most)
	}
}

func TestVisible(t *testing.T) {
	for path, want := range map[string]bool{
		"/var/tmp/x": true, "/home/me/.cache": true, "/runner/cache": true, "/var/library": true,
		"/run/x": false, "/var/run/x": false, "/var/lib/jenkins/.cache": false, "/var/log": false,
	} {
		if err := visible(path, "it"); (err == nil) != want {
			t.Errorf("%s: got %v", path, err)
		}
	}
}
