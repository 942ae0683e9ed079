package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// controlPrograms returns the servers of the control plane. It has its own network
// namespace and is not a node, so the API stays available whatever happens to nodes.
func (c *Cluster) controlPrograms() []program {
	pki := c.layout.pki
	return []program{
		{name: "etcd", args: []string{"etcd", "--data-dir", c.layout.control("etcd"),
			"--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
			"--listen-peer-urls=http://127.0.0.1:2380", "--unsafe-no-fsync"}},
		{name: "kube-apiserver", args: []string{"kube-apiserver", "--etcd-servers=http://127.0.0.1:2379",
			"--bind-address=0.0.0.0", "--advertise-address=" + controlAddress, "--secure-port=6443", "--cert-dir=" + c.layout.control("certs"),
			"--tls-cert-file=" + pki("apiserver.crt"), "--tls-private-key-file=" + pki("apiserver.key"), "--client-ca-file=" + pki("ca.crt"),
			"--service-account-key-file=" + pki("sa.crt"), "--service-account-signing-key-file=" + pki("sa.key"),
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local", "--service-cluster-ip-range=" + services,
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
			"--kubelet-certificate-authority=" + pki("ca.crt"), "--kubelet-client-certificate=" + pki("apiserver-kubelet.crt"), "--kubelet-client-key=" + pki("apiserver-kubelet.key"),
			"--audit-policy-file=" + c.layout.control("audit.yaml"), "--audit-log-path=" + c.layout.log("audit"),
			"--kubelet-preferred-address-types=InternalIP", // names would need a DNS server
			// Kubernetes evicts Pods of a lost node after 30 s instead of five minutes, because tests wait for it.
			"--default-not-ready-toleration-seconds=30", "--default-unreachable-toleration-seconds=30"}},
	}
}

// controlClients returns the programs of the control plane that are only clients
// of the API server. They start when it is ready.
func (c *Cluster) controlClients() []program {
	pki := c.layout.pki
	clients := []program{
		{name: "kube-controller-manager", args: []string{"kube-controller-manager", "--kubeconfig=" + pki("controller-manager.kubeconfig"),
			"--leader-elect=false", "--use-service-account-credentials=true", "--kube-api-qps=300", "--kube-api-burst=600", "--cert-dir=" + c.layout.control("certs"),
			"--service-account-private-key-file=" + pki("sa.key"), "--root-ca-file=" + pki("ca.crt"),
			"--cluster-signing-cert-file=" + pki("ca.crt"), "--cluster-signing-key-file=" + pki("ca.key"),
			"--flex-volume-plugin-dir=" + c.layout.control("volume-plugins"),
			"--node-monitor-period=2s", "--node-monitor-grace-period=20s"}},
		{name: "kube-scheduler", args: []string{"kube-scheduler", "--kubeconfig=" + pki("scheduler.kubeconfig"), "--leader-elect=false",
			"--kube-api-qps=300", "--kube-api-burst=600", "--cert-dir=" + c.layout.control("certs")}},
		{name: "directory-provisioner", args: []string{"directory-provisioner", "--kubeconfig=" + pki("directories.kubeconfig"),
			"--disks=" + filepath.Join(c.layout.state, "%s", "volumes"), "--path=" + volumesPath}},
	}
	// Only benchmarks use this one, and build it.
	if _, err := os.Stat(filepath.Join(c.bin, localPath)); err == nil {
		clients = append(clients, program{name: localPath, args: []string{localPath, "start", "--kubeconfig=" + pki("local-path.kubeconfig"),
			"--config=" + c.layout.control("local-path.json"), "--helper-pod-file=" + c.layout.control("helper-pod.yaml"),
			"--namespace=kube-system", "--helper-image=" + shellImage, "--worker-threads=16"}})
	}
	return clients
}

const (
	localPath   = "local-path-provisioner"
	volumesPath = "/var/lib/volumes" // of a node's disk for volumes, on the node
)

// startControl starts the control plane, calls ready when the API server is ready,
// and creates DNS and the StorageClasses.
func (c *Cluster) startControl(ctx context.Context, ready func()) error {
	if err := c.cgroups.make(control); err != nil {
		return err
	}
	for _, name := range []string{"local-path.json", "helper-pod.yaml", "audit.yaml"} {
		content, err := render(name, c.parameters(0))
		if err != nil {
			return err
		}
		if err := writeFile(c.layout.control(name), content, 0o644); err != nil {
			return err
		}
	}
	servers, err := c.startAll(control, c.controlPrograms())
	if err != nil {
		return err
	}
	a, err := c.api()
	if err != nil {
		return err
	}
	err = poll(ctx, 2*time.Minute, 100*time.Millisecond, "the API server", func() (bool, error) {
		return a.get(ctx, "/readyz", nil) == nil, firstEnded(servers)
	})
	if err != nil {
		return err
	}
	c.logf("the API server is ready at %s", apiServer)
	ready()
	if _, err := c.startAll(control, c.controlClients()); err != nil {
		return err
	}
	return c.applyAddons(ctx)
}

func (c *Cluster) startAll(unit string, programs []program) ([]*running, error) {
	var started []*running
	for _, p := range programs {
		p.unit = unit
		r, err := c.start(p)
		if err != nil {
			return nil, err
		}
		started = append(started, r)
	}
	return started, nil
}

func firstEnded(programs []*running) error {
	for _, r := range programs {
		if err := r.ended(); err != nil {
			return err
		}
	}
	return nil
}

// applyAddons creates DNS and the StorageClasses.
func (c *Cluster) applyAddons(ctx context.Context) error {
	addons, err := render("addons.yaml", c.parameters(0))
	if err != nil {
		return err
	}
	_, err = execute(ctx, string(addons), filepath.Join(c.bin, "kubectl"), "--kubeconfig", c.Kubeconfig(), "--cache-dir", c.layout.control("cache"),
		"apply", "--server-side", "--filename", "-")
	if err != nil {
		return fmt.Errorf("create DNS and the StorageClasses: %w", err)
	}
	return nil
}

// makeDirectories creates the directories that the programs need.
func (c *Cluster) makeDirectories() error {
	dirs := []string{c.layout.log(""), c.layout.control("tmp"), c.layout.control("volume-plugins")}
	for _, n := range c.nodes() {
		for _, dir := range []string{"lib/volumes", "lib/containerd", "log", "cni", "sysctl", "volumes"} {
			dirs = append(dirs, c.layout.node(n, dir))
		}
	}
	dirs[0] = filepath.Dir(dirs[0])
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("create %s: %w", dir, err)
		}
	}
	return nil
}
