package cluster

import (
	"slices"
	"strings"
	"testing"
)

func TestNetwork(t *testing.T) {
	batches := map[string][]string{}
	for _, b := range network(nodesUpTo(3)) {
		batches[b.namespace] = b.lines
	}
	t.Run("has no default route in any namespace", func(t *testing.T) {
		for namespace, lines := range batches {
			for _, line := range lines {
				if strings.Contains(line, "default") || strings.Contains(line, "0.0.0.0") {
					t.Errorf("%s: %s", namespace, line)
				}
			}
		}
	})
	t.Run("changes only its own links and routes on this machine", func(t *testing.T) {
		for _, line := range batches[""] {
			own := strings.HasPrefix(line, "netns add lk-") || strings.Contains(line, hostLink) ||
				strings.Contains(line, "netns lk-") || strings.HasPrefix(line, "route add 198.1")
			if !own {
				t.Error(line)
			}
		}
	})
	for from, routes := range map[string][]string{
		"":          {"198.18.1.0/24 via 198.18.255.1", "198.18.2.0/24 via 198.18.255.2", "198.18.3.0/24 via 198.18.255.3", "198.19.0.0/16 via 198.18.255.1"},
		control:     {"198.18.1.0/24 via 198.18.255.1", "198.18.2.0/24 via 198.18.255.2", "198.18.3.0/24 via 198.18.255.3"},
		"lk-node-2": {"198.19.0.0/16 dev services", "198.18.1.0/24 via 198.18.255.1", "198.18.3.0/24 via 198.18.255.3"},
	} {
		t.Run("has exactly the routes to other nodes and Services on "+namespaceName(from), func(t *testing.T) {
			var got []string
			for _, line := range batches[from] {
				if route, ok := strings.CutPrefix(line, "route add "); ok {
					got = append(got, route)
				}
			}
			slices.Sort(got)
			slices.Sort(routes)
			if !slices.Equal(got, routes) {
				t.Errorf("got %q, want %q", got, routes)
			}
		})
	}
}

func namespaceName(namespace string) string {
	if namespace == "" {
		return "this machine"
	}
	return namespace
}
