// Command backup-operator saves snapshots of etcd clusters to S3, GCS and Azure Blob Storage (EtcdBackup). With the argument
// "restore-test" it is the process that restores one snapshot to test it. With "replay" it is the process that replays a continuous
// archive to prove it, and with "check-database" the one that checks a snapshot (internal/dbcheck).
package main

import (
	"context"
	"fmt"
	"os"
	"time"
	_ "time/tzdata" // schedules need time zones, and the image contains no zone files

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/backup"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/restoretest"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/reach"
)

func main() {
	if code, asked := operator.CheckInstallation(); asked {
		os.Exit(code)
	}
	if len(os.Args) > 1 && os.Args[1] == restoretest.Command {
		if err := restoretest.Main(os.Stdin, os.Stdout, os.Exit); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) > 1 && os.Args[1] == replay.Command {
		if err := replay.Main(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	var options operator.Options
	options.AddFlags(pflag.CommandLine)
	controller := backup.Options{Metrics: metrics.Registry}
	controller.AddFlags(pflag.CommandLine)
	version := operator.AddVersionFlag(pflag.CommandLine)
	pflag.Parse()
	if *version {
		fmt.Println(operator.Version)
		return
	}
	options.Server = &clock.Server{}
	options.LeaseRetry = time.Second // what clients write is not archived until another replica leads
	err := reach.FromEnvironment().Apply()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	err = operator.Run(ctrl.SetupSignalHandler(), backup.Name, options, func(_ context.Context, mgr manager.Manager) error {
		controller.Try, controller.Server = restoretest.Try, options.Server
		if controller.RequireSecretEndpoint {
			connect.RequireNamedEndpoints()
		}
		return backup.Setup(mgr, controller)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
