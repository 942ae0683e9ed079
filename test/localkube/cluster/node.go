package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// sysctls are the values that a kubelet would set for the whole machine. On each
// node, files with these values replace the real ones.
var sysctls = map[string]string{
	"vm.overcommit_memory":      "1",
	"vm.panic_on_oom":           "0",
	"kernel.panic":              "10",
	"kernel.panic_on_oops":      "1",
	"kernel.keys.root_maxkeys":  "1000000",
	"kernel.keys.root_maxbytes": "25000000",
}

// configureNode writes the node's configuration files.
func (c *Cluster) configureNode(n node) error {
	files := map[string]string{"containerd.toml": "containerd.toml", "kubelet.yaml": "kubelet.yaml", "proxy.yaml": "proxy.yaml", "pods.conflist": "cni/10-pods.conflist"}
	for source, file := range files {
		content, err := render(source, c.parameters(n))
		if err != nil {
			return err
		}
		if err := writeFile(c.layout.node(n, file), content, 0o644); err != nil {
			return err
		}
	}
	for name, value := range sysctls {
		if err := writeFile(c.layout.node(n, "sysctl/"+name), []byte(value+"\n"), 0o644); err != nil {
			return err
		}
	}
	// Pods with dnsPolicy Default get this file, which names a server that does not exist.
	return writeFile(c.layout.node(n, "resolv.conf"), []byte("nameserver 127.0.0.1\n"), 0o644)
}

// startContainerd starts the node's first program and waits until it accepts
// connections. The other programs join its mount namespace.
func (c *Cluster) startContainerd(ctx context.Context, n node) (*running, error) {
	if err := c.cgroups.make(n.unit()); err != nil {
		return nil, err
	}
	// A restart ends all Pods of the node, so none of them keeps its address or its link.
	if err := removePodLinks(ctx, n.unit()); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(c.layout.node(n, "lib/cni")); err != nil {
		return nil, fmt.Errorf("remove the address reservations of Pods: %w", err)
	}
	mounts, err := render("mounts.sh", c.parameters(n))
	if err != nil {
		return nil, err
	}
	if err := os.RemoveAll(c.layout.socket(n)); err != nil {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	r, err := c.start(program{name: n.String() + "-containerd", unit: n.unit(), mounts: string(mounts),
		args: []string{"containerd", "--config", c.layout.node(n, "containerd.toml"), "--log-level", "info"}})
	if err != nil {
		return nil, err
	}
	err = poll(ctx, time.Minute, 50*time.Millisecond, "containerd", func() (bool, error) {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", c.layout.socket(n))
		if err != nil {
			return false, r.ended()
		}
		return true, conn.Close()
	})
	return r, err
}

// startKubelet starts the node's other programs. The API server must be ready,
// because a kubelet that cannot connect waits several seconds before it retries.
func (c *Cluster) startKubelet(n node, containerd *running) ([]*running, error) {
	programs := []program{
		{name: n.String() + "-kubelet", join: containerd.pid, args: []string{"kubelet", "--config=" + c.layout.node(n, "kubelet.yaml"),
			"--kubeconfig=" + c.layout.pki(n.String()+".kubeconfig"), "--hostname-override=" + n.String(), "--node-ip=" + n.address(),
			"--node-labels=topology.kubernetes.io/region=localkube,topology.kubernetes.io/zone=" + n.zone()}},
		{name: n.String() + "-kube-proxy", join: containerd.pid, args: []string{"kube-proxy", "--config=" + c.layout.node(n, "proxy.yaml")}},
	}
	return c.startAll(n.unit(), programs)
}

// zone returns the node's zone. Each node is a separate failure domain.
func (n node) zone() string { return fmt.Sprintf("zone-%d", int(n)) }

// createNode starts a node for the first time. apiReady is closed when the API
// server is ready.
func (c *Cluster) createNode(ctx context.Context, n node, apiReady <-chan struct{}) error {
	if err := c.configureNode(n); err != nil {
		return err
	}
	containerd, err := c.startContainerd(ctx, n)
	if err != nil {
		return err
	}
	images, err := filepath.Glob(filepath.Join(c.layout.images(), "*.tar"))
	if err != nil {
		return fmt.Errorf("list the images: %w", err)
	}
	if err := c.importImages(ctx, n, images); err != nil {
		return err
	}
	c.logf("%s: containerd is running and has the images", n)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-apiReady:
	}
	_, err = c.startKubelet(n, containerd)
	return err
}

// waitReady waits until Pods can run on the nodes and their DNS is ready. It
// ignores what nodes and Pods reported before since.
func (c *Cluster) waitReady(ctx context.Context, nodes []node, since time.Time, limit time.Duration) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	reason := ""
	reported := map[node]bool{}
	err = poll(ctx, limit, 200*time.Millisecond, "the nodes", func() (bool, error) {
		var list nodeList
		list, reason = a.notReadyReason(ctx, nodes, since)
		for _, n := range nodes {
			if !since.IsZero() && !reported[n] && list.unready([]node{n}, since) == "" {
				reported[n] = true
				c.logf("%s is Ready", n)
			}
		}
		return reason == "", nil
	})
	if err != nil {
		return fmt.Errorf("%w: %s; the logs are in %s", err, reason, filepath.Dir(c.layout.log("x")))
	}
	return nil
}
