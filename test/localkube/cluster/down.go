package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Down ends and removes everything that Up made, whole or half, and returns
// when it is gone. Where there is nothing it does nothing.
func Down(ctx context.Context, state string, w io.Writer) error {
	c, err := find(state)
	if err != nil {
		return err
	}
	c.say = progress(w)
	if _, err := os.Stat(state); err != nil && len(c.cgroups.units()) == 0 {
		c.say("nothing to remove")
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
	c.say("removed everything in %s", state)
	return nil
}

// clear removes everything but the state directory itself, which holds the
// lock. Nothing is asked to end in an orderly way: all that it would put in
// order is removed next, and kube-apiserver alone would take 20 s.
func (c *Cluster) clear(ctx context.Context) error {
	units := c.cgroups.units()
	for _, unit := range units {
		if err := c.cgroups.kill(ctx, unit); err != nil {
			return err
		}
	}
	if len(units) > 0 {
		c.say("all processes of %d units have ended", len(units))
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

// removeNetnsDir removes what iproute2 makes for the first namespace, if no
// other has been made meanwhile.
func removeNetnsDir() {
	if entries, err := os.ReadDir(netnsDir); err == nil && len(entries) == 0 {
		_ = syscall.Unmount(netnsDir, 0)
		_ = os.Remove(netnsDir)
	}
}

// empty removes the content of the state directory, the marker that says that
// it is ours last.
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

// checkOwner refuses to touch a cluster that another state directory owns:
// there is one to a machine, since names and addresses are the same.
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
				return fmt.Errorf("a local cluster with its state in %s runs on this machine: first remove it with %s=%s", state, stateVariable, state)
			}
		}
	}
	return nil
}
