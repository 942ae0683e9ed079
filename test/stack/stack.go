// Package stack installs the whole suite on a Kubernetes, for the demo and the end-to-end tests. It starts the local
// Kubernetes, or uses that of KUBECONFIG and CONTEXT. It builds and loads images, starts object stores and installs the
// chart with Helm.
package stack

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/test/localkube/cluster"
	"github.com/etcd-suite/etcd-operator/test/localkube/programs"
)

// Stack is a Kubernetes on which the suite is, or will be, installed.
type Stack struct {
	// Local is the local Kubernetes, or nil if KUBECONFIG names another.
	Local *cluster.Cluster
	// Client has the rights of an administrator.
	Client client.Client
	Config *rest.Config

	root  string // of the repository
	bin   string // with kubectl and helm
	cache *programs.Cache
	env   []string // for kubectl and helm
	out   io.Writer

	built      chan struct{} // closed when the images are built
	buildError error         // valid when built is closed
}

// Nodes is the number of nodes of the local Kubernetes: one for each member of a cluster of three.
const Nodes = 3

// repository returns the root of this repository: the working directory or one of its parents.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	for d := dir; d != filepath.Dir(d); d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "charts", "etcd-operator", "Chart.yaml")); err == nil {
			return d, nil
		}
	}
	return "", fmt.Errorf("%s is not inside the repository", dir)
}

// connect connects to the cluster of KUBECONFIG, or starts the local one.
func (s *Stack) connect(ctx context.Context) error {
	kubeconfig, kubecontext := os.Getenv("KUBECONFIG"), os.Getenv("CONTEXT")
	if kubeconfig == "" {
		local, err := cluster.Up(ctx, cluster.Options{State: cluster.StateDir(), Bin: s.bin, Nodes: Nodes, Progress: s.out})
		if err != nil {
			return fmt.Errorf("start the local Kubernetes: %w", err)
		}
		s.Local, kubeconfig = local, local.Kubeconfig()
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: kubecontext},
	).ClientConfig()
	if err != nil {
		return fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	config.QPS, config.Burst = 100, 200
	scheme, err := operator.Scheme()
	if err != nil {
		return err
	}
	if s.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("connect to Kubernetes: %w", err)
	}
	s.Config = config
	s.env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HELM_KUBECONTEXT="+kubecontext)
	return nil
}

// Kubectl runs kubectl in the repository's root and returns its output.
func (s *Stack) Kubectl(ctx context.Context, args ...string) (string, error) {
	if kubecontext := os.Getenv("CONTEXT"); kubecontext != "" {
		args = append([]string{"--context", kubecontext}, args...)
	}
	return s.run(ctx, filepath.Join(s.bin, "kubectl"), args...)
}

// Helm runs helm in the repository's root and returns its output.
func (s *Stack) Helm(ctx context.Context, args ...string) (string, error) {
	return s.run(ctx, filepath.Join(s.bin, "helm"), args...)
}

// run runs a program with the kubeconfig of the cluster.
func (s *Stack) run(ctx context.Context, program string, args ...string) (string, error) {
	return run(ctx, s.root, s.env, program, args...)
}

// run runs a program and returns its output. Its error contains the output, too.
func run(ctx context.Context, dir string, env []string, program string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, program, args...)
	command.Dir, command.Env = dir, env
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Run(); err != nil {
		return output.String(), fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, strings.TrimSpace(output.String()))
	}
	return output.String(), nil
}
