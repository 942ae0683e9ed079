package plugin

import (
	"fmt"
	"slices"
)

// BenchPrefix is the prefix of the keys that Bench writes. It is not that of etcdctl, so that a user knows whose keys are left after Ctrl-C.
const BenchPrefix = "/kubectl-etcd-bench/"

// Bench returns the arguments of etcdctl that measure writes.
func Bench(load string) ([]string, error) {
	if !slices.Contains([]string{"s", "m", "l", "xl"}, load) {
		return nil, fmt.Errorf("load %q does not exist. Nothing was changed. Write s, m, l or xl", load)
	}
	return []string{"check", "perf", "--load=" + load, "--prefix=" + BenchPrefix, "--command-timeout=90s"}, nil
}
