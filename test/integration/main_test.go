package integration

import (
	"fmt"
	"os"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/podrunner"
)

// TestMain is also the process of a replay, as restore-operator's program is.
func TestMain(m *testing.M) {
	podrunner.Init()
	if len(os.Args) > 1 && os.Args[1] == replay.Command {
		if err := replay.Main(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	kubetest.Main(m)
}
