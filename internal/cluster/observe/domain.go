package observe

import (
	"os"
	"strings"
	"sync"
)

// clusterDomain is the DNS domain of the Kubernetes cluster that the operator runs in, from the search path of its Pod. It is
// empty outside of a Pod.
var clusterDomain = sync.OnceValue(func() string {
	text, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		return ""
	}
	return domainOf(string(text))
})

// domainOf a resolv.conf is what follows "svc." in its search path.
func domainOf(resolv string) string {
	for line := range strings.Lines(resolv) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "search" {
			continue
		}
		for _, field := range fields[1:] {
			if domain, is := strings.CutPrefix(field, "svc."); is {
				return strings.TrimSuffix(domain, ".")
			}
		}
	}
	return ""
}
