// Command backup-operator saves snapshots of etcd clusters to S3 and GCS, once or in a series (EtcdBackup).
package main

import (
	"context"
	"fmt"
	"os"
	_ "time/tzdata" // schedules need time zones, and the image contains no zone files

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/etcd-suite/etcd-operator/internal/backup"
	"github.com/etcd-suite/etcd-operator/internal/operator"
)

func main() {
	var options operator.Options
	options.AddFlags(pflag.CommandLine)
	controller := backup.Options{Metrics: metrics.Registry}
	controller.AddFlags(pflag.CommandLine)
	version := pflag.Bool("version", false, "print the version and exit")
	pflag.Parse()
	if *version {
		fmt.Println(operator.Version)
		return
	}
	err := operator.Run(ctrl.SetupSignalHandler(), backup.Name, options, func(_ context.Context, mgr manager.Manager) error {
		return backup.Setup(mgr, controller)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
