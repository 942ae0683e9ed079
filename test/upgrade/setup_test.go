package upgrade

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/etcd-suite/etcd-operator/test/localkube/cluster"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

// root of the repository, and the chart in it and in the tree of an earlier commit.
const (
	root  = "../.."
	chart = "charts/etcd-operator"
)

// suite is the local Kubernetes, and the earlier commit of the suite that is installed first.
var suite struct {
	*stack.Stack
	from commit
}

// needed lists the program modules that the test needs. make e2e-upgrade builds them.
var needed = []string{"kubernetes", "containerd", "coredns", "directories", "etcd-3.6", "cni", "helm", "versitygw", "etcd-3.5", "etcd-3.7"}

// setUp starts a fresh local Kubernetes with the images of both commits. The chart is installed by the test.
func setUp(ctx context.Context) (err error) {
	if os.Getenv("KUBECONFIG") != "" {
		return errors.New("this test loads images into the local Kubernetes and uses no other: unset KUBECONFIG")
	}
	began := time.Now()
	step := func(what string) { fmt.Printf("setup: %s (%s)\n", what, time.Since(began).Round(time.Second)) }
	if suite.from, err = resolve(ctx, os.Getenv("UPGRADE_FROM")); err != nil {
		return err
	}
	if err := suite.from.build(ctx); err != nil {
		return err
	}
	step("the images of " + suite.from.short() + " are built")
	// A suite that is installed already may be newer than the earlier commit.
	if err := cluster.Down(ctx, cluster.StateDir(), os.Stdout); err != nil {
		return fmt.Errorf("delete the local Kubernetes of an earlier run: %w", err)
	}
	if suite.Stack, err = stack.Open(ctx, os.Stdout, needed...); err != nil {
		return err
	}
	step("Kubernetes is ready")
	if err := suite.LoadImages(ctx); err != nil {
		return err
	}
	if err := suite.Local.Load(ctx, suite.from.images()...); err != nil {
		return err
	}
	step("the images are loaded")
	if _, err := suite.StartS3(ctx); err != nil {
		return err
	}
	step("the object store is ready")
	return nil
}
