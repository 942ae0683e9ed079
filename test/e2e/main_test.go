package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-suite/etcd-operator/test/stack"
)

// suite is shared by all tests: one Kubernetes with the installed chart and both object stores.
var suite struct {
	*stack.Stack
	s3  *s3.Client
	gcs string
}

// programs lists the program modules that the tests need. make e2e builds them.
var programs = []string{"kubernetes", "containerd", "coredns", "directories", "etcd-3.6", "cni", "helm", "versitygw", "fake-gcs", "cert-manager", "etcd-3.4", "etcd-3.5", "etcd-3.7"}

func TestMain(m *testing.M) {
	if os.Getenv("TEST_BIN") == "" {
		fmt.Println("the end-to-end tests need a Kubernetes: run make e2e")
		if os.Getenv("CI") == "true" {
			os.Exit(1)
		}
		os.Exit(0)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err := setUp(ctx)
	if err != nil {
		fmt.Println("the setup failed:", err)
		os.Exit(1)
	}
	code := m.Run()
	cancel()
	os.Exit(code)
}

func setUp(ctx context.Context) (err error) {
	began := time.Now()
	step := func(what string) {
		fmt.Printf("setup: %s (%s)\n", what, time.Since(began).Round(time.Second))
	}
	if suite.Stack, err = stack.Open(ctx, os.Stdout, programs...); err != nil {
		return err
	}
	step("Kubernetes is ready")
	if err := suite.LoadImages(ctx); err != nil {
		return err
	}
	step("the images are loaded")
	if suite.s3, err = suite.StartS3(ctx); err != nil {
		return err
	}
	if suite.gcs, err = suite.StartGCS(ctx); err != nil {
		return err
	}
	step("the object stores are ready")
	if err := suite.Install(ctx); err != nil {
		return err
	}
	step("the chart is installed")
	return nil
}
