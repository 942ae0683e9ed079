package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Options describe the cluster to start.
type Options struct {
	State    string    // the state directory
	Bin      string    // the directory with the programs
	Nodes    int       // 1 to MaxNodes
	Progress io.Writer // one line for each step
}

// Up starts a cluster and returns when it is ready. If a cluster with the same
// programs and nodes is running, Up keeps it and only undoes injected faults. It
// removes any other cluster first. Like [Require], it installs missing system packages.
func Up(ctx context.Context, o Options) (*Cluster, error) {
	if o.Nodes < 1 || o.Nodes > MaxNodes {
		return nil, fmt.Errorf("a cluster cannot have %d nodes: the address plan allows 1 to %d", o.Nodes, MaxNodes)
	}
	c, err := find(o.State)
	if err != nil {
		return nil, err
	}
	c.logf = progress(o.Progress)
	if err := Require(ctx, c.logf); err != nil {
		return nil, err
	}
	if err := visible(o.Bin, "the directory of the programs (set LOCALKUBE_CACHE)"); err != nil {
		return nil, err
	}
	unlock, err := c.own(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if c.reusable(o) {
		err := c.repair(ctx)
		if err == nil {
			c.logf("the cluster is already running")
			return c, nil
		}
		c.logf("the existing cluster cannot be repaired and is recreated: %v", err)
	}
	if err := c.clear(ctx); err != nil {
		return nil, fmt.Errorf("remove an earlier cluster: %w", err)
	}
	return c, c.create(ctx, o)
}

// own locks the cluster for this process and then reads its record, which another
// process may have changed before.
func (c *Cluster) own(ctx context.Context) (func(), error) {
	if err := c.checkOwner(); err != nil {
		return nil, err
	}
	if err := c.checkPath(); err != nil {
		return nil, err
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(c.checkContent(), c.readRecord()); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// reusable reports whether the existing cluster matches the options.
func (c *Cluster) reusable(o Options) bool {
	switch {
	case !c.record.Complete:
		return false
	case c.record.Nodes != o.Nodes:
		c.logf("the existing cluster has %d nodes instead of %d and is recreated", c.record.Nodes, o.Nodes)
		return false
	case c.record.Bin != o.Bin:
		c.logf("the existing cluster has different programs and is recreated")
		return false
	}
	return true
}

// create creates the cluster. No part of it may exist.
func (c *Cluster) create(ctx context.Context, o Options) error {
	_, err := os.Stat(netnsDir)
	c.bin = o.Bin
	c.record = record{Nodes: o.Nodes, Bin: o.Bin, MadeNetns: errors.Is(err, fs.ErrNotExist), Disks: true}
	if err := c.writeRecord(); err != nil {
		return err
	}
	if err := c.makeDirectories(); err != nil {
		return err
	}
	c.logf("creating certificates, images and the network for %d nodes in %s", o.Nodes, c.layout.state)
	if err := c.writePKI(); err != nil {
		return err
	}
	if err := c.makeNetwork(ctx); err != nil {
		return err
	}
	begin := time.Now()
	if err := c.startEverything(ctx); err != nil {
		return fmt.Errorf("%w\nThe logs are in %s. To remove the incomplete cluster, run go run ./test/localkube down", err, filepath.Dir(c.layout.log("x")))
	}
	if err := c.waitReady(ctx, c.nodes(), begin, 3*time.Minute); err != nil {
		return err
	}
	c.record.Complete = true
	if err := c.writeRecord(); err != nil {
		return err
	}
	c.logf("the cluster is ready")
	return nil
}

// startEverything starts the control plane and the nodes at the same time. Nodes
// start their kubelets when the API server is ready.
func (c *Cluster) startEverything(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	apiReady := make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		err := c.startControl(ctx, func() { close(apiReady) })
		if err != nil {
			cancel()
		}
		failed <- err
	}()
	nodesErr := c.startNodes(ctx, apiReady)
	if nodesErr != nil {
		cancel()
	}
	controlErr := <-failed
	if errors.Is(nodesErr, context.Canceled) { // the failure of the control plane cancelled it
		nodesErr = nil
	}
	if errors.Is(controlErr, context.Canceled) {
		controlErr = nil
	}
	if err := errors.Join(controlErr, nodesErr); err != nil {
		return err
	}
	return ctx.Err()
}

func (c *Cluster) startNodes(ctx context.Context, apiReady <-chan struct{}) error {
	if err := c.writeImages(ctx); err != nil {
		return err
	}
	for _, n := range c.nodes() { // one by one, because loop devices cannot be allocated concurrently
		ok, err := c.makeDisk(ctx, n)
		if err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
		c.record.Disks = c.record.Disks && ok
	}
	return forEachNode(ctx, c.nodes(), func(ctx context.Context, n node) error {
		return c.createNode(ctx, n, apiReady)
	})
}

// repair undoes every injected fault and waits until everything is ready.
func (c *Cluster) repair(ctx context.Context) error {
	if missing, err := c.missingPrograms(control); err != nil || len(missing) > 0 {
		return errors.Join(err, fmt.Errorf("these programs of the control plane are not running: %s", strings.Join(missing, ", ")))
	}
	if err := c.UnblockTraffic(ctx); err != nil {
		return err
	}
	begin := time.Time{} // unchanged nodes need not report a new status
	for _, n := range c.nodes() {
		touched, err := c.repairNode(ctx, n)
		if err != nil {
			return err
		}
		if touched {
			c.logf("%s is repaired", n)
		}
	}
	return c.waitReady(ctx, c.nodes(), begin, time.Minute)
}
