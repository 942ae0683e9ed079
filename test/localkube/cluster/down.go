package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Down ends and removes everything that Up created, even if Up failed, and returns
// when everything is removed. If there is no cluster, it does nothing.
func Down(ctx context.Context, state string, w io.Writer) error {
	c, err := find(state)
	if err != nil {
		return err
	}
	c.logf = progress(w)
	if _, err := os.Stat(state); err != nil && len(c.cgroups.units()) == 0 {
		c.logf("there is no cluster to remove")
		return nil
	}
	unlock, err := c.own(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.clear(ctx); err != nil {
		return err
	}
	if err := os.Remove(state); err != nil {
		return fmt.Errorf("remove the state directory: %w", err)
	}
	c.logf("removed everything in %s", state)
	return nil
}

// clear removes everything except the state directory itself, which holds the
// lock. It kills processes instead of shutting them down, because their data is
// removed next, and the shutdown of kube-apiserver alone takes 20 s.
func (c *Cluster) clear(ctx context.Context) error {
	units := c.cgroups.units()
	for _, unit := range units {
		if err := c.cgroups.kill(ctx, unit); err != nil {
			return err
		}
	}
	if len(units) > 0 {
		c.logf("all processes of the control plane and the nodes have ended")
	}
	if err := c.unmount(ctx); err != nil {
		return err
	}
	if err := removeNetwork(ctx); err != nil {
		return err
	}
	for _, unit := range units {
		if err := c.cgroups.remove(ctx, unit); err != nil {
			return err
		}
	}
	if c.record.MadeNetns {
		removeNetnsDir()
	}
	return c.empty()
}

// removeNetnsDir removes the directory and mount that iproute2 created for the
// first namespace, unless another namespace exists.
func removeNetnsDir() {
	if entries, err := os.ReadDir(netnsDir); err == nil && len(entries) == 0 {
		_ = syscall.Unmount(netnsDir, 0)
		_ = os.Remove(netnsDir)
	}
}

// empty removes the content of the state directory. It removes the marker last,
// because a later Down refuses a directory that has files but no marker.
func (c *Cluster) empty() error {
	entries, err := os.ReadDir(c.layout.state)
	if err != nil {
		return fmt.Errorf("empty the state directory: %w", err)
	}
	for _, e := range entries {
		path := c.layout.state + "/" + e.Name()
		if path == c.layout.marker() {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("empty the state directory: %w", err)
		}
	}
	if err := os.RemoveAll(c.layout.marker()); err != nil {
		return fmt.Errorf("empty the state directory: %w", err)
	}
	c.record = record{}
	return nil
}

// checkOwner refuses to touch the cluster of another state directory. A machine
// can run only one cluster, because names and addresses are fixed.
func (c *Cluster) checkOwner() error {
	for _, unit := range c.cgroups.units() {
		pids, err := c.cgroups.processes(unit)
		if err != nil {
			return err
		}
		for _, pid := range pids {
			state, err := owner(pid)
			if err != nil {
				return err
			}
			if state != "" && state != c.layout.state {
				return fmt.Errorf("a local cluster with the state directory %[1]s already runs on this machine: remove it first with %[2]s=%[1]s go run ./test/localkube down", state, stateVariable)
			}
		}
	}
	return nil
}
