// Command cluster-operator creates, heals, resizes, upgrades and restores etcd clusters (EtcdCluster).
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

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster"
	"github.com/etcd-suite/etcd-operator/internal/operator"
)

func main() {
	var options operator.Options
	options.AddFlags(pflag.CommandLine)
	controller := cluster.Options{Metrics: metrics.Registry}
	pflag.StringVar(&controller.SeedImage, "seed-image", "ghcr.io/etcd-suite/restore-operator:"+operator.Version,
		"image of restore-operator, whose init container restores the first member of a restored cluster")
	pflag.IntVar(&controller.MaxConcurrent, "max-concurrent-clusters", cluster.Concurrency, "maximum number of EtcdClusters that are managed at the same time; further ones wait")
	pflag.StringVar(&options.Shard, "shard", "", "manage only the EtcdClusters whose label "+v1beta2.LabelShard+" has this value; if empty, those without the label")
	pflag.IntVar(&controller.MaxReplacements, "max-replacements", cluster.Replacements, "maximum number of EtcdClusters in which members that were lost are replaced at the same time; further ones wait")
	pflag.IntVar(&controller.ReplacementsPerMinute, "replacements-per-minute", cluster.ReplacementsPerMinute, "maximum number of such replacements that begin in one minute")
	version := pflag.Bool("version", false, "print the version and exit")
	pflag.Parse()
	if *version {
		fmt.Println(operator.Version)
		return
	}
	var err error
	if options.ByObject, err = cluster.CacheOptions(options.Shard); err == nil {
		controller.Shard = options.Shard
		err = operator.Run(ctrl.SetupSignalHandler(), cluster.Name, options, func(_ context.Context, mgr manager.Manager) error {
			return cluster.Setup(mgr, controller)
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
