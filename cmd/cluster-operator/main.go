// Command cluster-operator creates, heals, resizes, upgrades and restores etcd clusters (EtcdCluster).
package main

import (
	"context"
	"fmt"
	"os"
	_ "time/tzdata" // schedules need time zones, and the image contains no zone files

	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/storage/reach"
)

func main() {
	if code, asked := operator.CheckInstallation(); asked {
		os.Exit(code)
	}
	var options operator.Options
	options.AddFlags(pflag.CommandLine)
	controller := cluster.Options{Metrics: metrics.Registry}
	controller.AddFlags(pflag.CommandLine)
	version := operator.AddVersionFlag(pflag.CommandLine)
	pflag.Parse()
	if *version {
		fmt.Println(operator.Version)
		return
	}
	var err error
	options.Shard = controller.Shard
	options.Server = &clock.Server{}
	controller.Server = options.Server
	stores := reach.FromEnvironment()
	controller.SeedEnv = stores
	if err = stores.Apply(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if options.ByObject, err = kubecache.CacheOptions(options.Shard); err == nil {
		err = operator.Run(ctrl.SetupSignalHandler(), cluster.Name, options, func(_ context.Context, mgr manager.Manager) error {
			return cluster.Setup(mgr, controller)
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
