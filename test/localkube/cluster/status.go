package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A NodeStatus is the state of a node as observed on this machine. It does not
// include whether the node is Ready in Kubernetes.
type NodeStatus struct {
	Name    string
	Running bool // all its programs run, even if they are frozen
	Frozen  bool
	Joined  bool // its network is connected
	Filled  bool // FillNode filled its disk
}

// String describes the status in words.
func (s NodeStatus) String() string {
	words := "stopped"
	if s.Running {
		words = "running"
	}
	if s.Frozen {
		words += ", frozen"
	}
	if s.Running && !s.Joined {
		words += ", cut off"
	}
	if s.Filled {
		words += ", disk filled"
	}
	return s.Name + ": " + words
}

// Status returns the status of every node.
func (c *Cluster) Status(ctx context.Context) ([]NodeStatus, error) {
	var all []NodeStatus
	for _, n := range c.nodes() {
		s, err := c.nodeStatus(ctx, n)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (c *Cluster) nodeStatus(ctx context.Context, n node) (NodeStatus, error) {
	s := NodeStatus{Name: n.String()}
	missing, err := c.missingPrograms(n.unit())
	if err != nil {
		return s, err
	}
	s.Running = len(missing) == 0
	if s.Frozen, err = c.cgroups.frozen(n.unit()); err != nil {
		return s, err
	}
	if s.Joined, err = linkUp(ctx, n); err != nil {
		return s, err
	}
	_, err = os.Stat(c.layout.node(n, filepath.Join("volumes", fillFile)))
	s.Filled = err == nil
	return s, nil
}

// APIReady returns nil if the API server is ready, or an error that explains why not.
func (c *Cluster) APIReady(ctx context.Context) error {
	if missing, err := c.missingPrograms(control); err != nil || len(missing) > 0 {
		return errors.Join(err, fmt.Errorf("these programs of the control plane are not running: %s", strings.Join(missing, ", ")))
	}
	a, err := c.api()
	if err != nil {
		return err
	}
	return a.get(ctx, "/readyz", nil)
}

// missingPrograms lists the programs of the unit that are not running.
func (c *Cluster) missingPrograms(unit string) ([]string, error) {
	want := []string{"containerd", "kubelet", "kube-proxy"}
	if unit == control {
		want = nil
		for _, p := range append(c.controlPrograms(), c.controlClients()...) {
			want = append(want, p.args[0])
		}
	}
	if _, err := os.Stat(filepath.Join(c.cgroups.freezer, unit)); errors.Is(err, fs.ErrNotExist) {
		return want, nil
	}
	pids, err := c.cgroups.processes(filepath.Join(unit, "system"))
	if err != nil {
		return nil, err
	}
	for _, pid := range pids {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if err != nil {
			continue // the process ended
		}
		want = slices.DeleteFunc(want, func(name string) bool { return name == filepath.Base(exe) })
	}
	return want, nil
}
