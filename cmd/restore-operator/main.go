// Command restore-operator verifies snapshots and reports the progress of their restore (EtcdRestore). With the argument
// "seed" it is the init container that restores the data of the first member of a restored cluster. With "replay" it is the
// process that replays a continuous archive, and with "check-database" the one that checks a snapshot (internal/dbcheck).
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/restore"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/seeder"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/reach"
)

func main() {
	if code, asked := operator.CheckInstallation(); asked {
		os.Exit(code)
	}
	if len(os.Args) > 1 && os.Args[1] == seed.Command {
		os.Exit(seeder.Main(ctrl.SetupSignalHandler(), os.Args[1:], ""))
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
	var own restore.Flags
	own.AddFlags(pflag.CommandLine)
	version := operator.AddVersionFlag(pflag.CommandLine)
	pflag.Parse()
	if *version {
		fmt.Println(operator.Version)
		return
	}
	options.Server = &clock.Server{}
	err := reach.FromEnvironment().Apply()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	err = operator.Run(ctrl.SetupSignalHandler(), restore.Name, options, func(_ context.Context, mgr manager.Manager) error {
		spool, err := restore.OpenSpool(own.SpoolDir, own.Spool.Options())
		if err != nil {
			return err
		}
		spool, notice := spool.WithReplayMemory(own.ReplayMemory.Value())
		if notice != "" {
			ctrl.Log.WithName(restore.Name).Info(notice)
		}
		o := restore.Options{
			Prove: spool.Prove, Save: spool.Save(nil), MaxProofs: own.MaxProofs,
			OwnIdentity: own.OwnIdentity, Metrics: metrics.Registry, Server: options.Server,
		}
		if own.RequireSecretEndpoint {
			connect.RequireNamedEndpoints()
		}
		if own.SignedURLs {
			o.Sign = source.Sign
		}
		return restore.Setup(mgr, o)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
