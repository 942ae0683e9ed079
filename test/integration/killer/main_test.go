package killer_test

import (
	"fmt"
	"net"
	"os"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/podrunner"
)

func TestMain(m *testing.M) {
	podrunner.Init()
	if len(os.Args) > 1 && os.Args[1] == replay.Command { // the process of a replay, as restore-operator's program is
		if err := replay.Main(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	net.DefaultResolver = podrunner.Resolver() // backup-operator reaches the members by their URLs
	kubetest.Main(m)
}
