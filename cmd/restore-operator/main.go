// Command restore-operator verifies snapshots and reports the progress of their restore (EtcdRestore). With the argument
// "seed" it is the init container that restores the data of the first member of a restored cluster.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/restore"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/seeder"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == seed.Command {
		os.Exit(seeder.Main(ctrl.SetupSignalHandler(), os.Args[1:]))
	}
	var options operator.Options
	options.AddFlags(pflag.CommandLine)
	spoolDir := pflag.String("spool-dir", os.TempDir(), "directory for snapshots during verification; it needs space for the largest snapshot and for the largest database")
	var budget restore.SpoolFlags
	budget.AddFlags(pflag.CommandLine)
	maxProofs := pflag.Int("max-proofs", 3, "maximum number of concurrent verifications, of which one namespace has one fewer; further snapshots wait")
	version := pflag.Bool("version", false, "print the version and exit")
	pflag.Parse()
	if *version {
		fmt.Println(operator.Version)
		return
	}
	err := operator.Run(ctrl.SetupSignalHandler(), restore.Name, options, func(_ context.Context, mgr manager.Manager) error {
		spool, err := restore.OpenSpool(*spoolDir, budget.Options())
		if err != nil {
			return err
		}
		return restore.Setup(mgr, restore.Options{Prove: spool.Prove, Save: spool.Save(nil), MaxProofs: *maxProofs, Metrics: metrics.Registry})
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
