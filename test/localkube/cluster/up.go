package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Options say which cluster to bring up.
type Options struct {
	State    string    // the state directory
	Bin      string    // the directory with the programs
	Nodes    int       // 1 to MaxNodes
	Progress io.Writer // one line for each step
}

// Up brings a cluster up and returns when it is ready. A cluster that is up
// already, with the same programs and nodes, is left alone but for the faults
// that were planted in it; anything else is removed first.
func Up(ctx context.Context, o Options) (*Cluster, error) {
	if o.Nodes < 1 || o.Nodes > MaxNodes {
		return nil, fmt.Errorf("a cluster of %d nodes: the address plan allows 1 to %d", o.Nodes, MaxNodes)
	}
	c, err := find(o.State)
	if err != nil {
		return nil, err
	}
	c.say = progress(o.Progress)
	if err := visible(o.Bin, "the directory of programs (set LOCALKUBE_CACHE)"); err != nil {
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
			c.say("already up")
			return c, nil
		}
		c.say("a cluster is there, but not whole: %v", err)
	}
	if err := c.clear(ctx); err != nil {
		return nil, fmt.Errorf("remove what is left of an earlier cluster: %w", err)
	}
	return c, c.create(ctx, o)
}

// own makes this process the only one that changes the cluster. Only then
// what is known of it counts: another may have changed it meanwhile.
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

// reusable says whether the cluster that is there is the one asked for.
func (c *Cluster) reusable(o Options) bool {
	switch {
	case !c.record.Complete:
		return false
	case c.record.Nodes != o.Nodes:
		c.say("the cluster that is there has %d nodes, not %d: making it anew", c.record.Nodes, o.Nodes)
		return false
	case c.record.Bin != o.Bin:
		c.say("the cluster that is there runs other programs: making it anew")
		return false
	}
	return true
}

// create makes the cluster; there is nothing of it yet.
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
	c.say("making certificates, images and a network for %d nodes in %s", o.Nodes, c.layout.state)
	if err := c.writePKI(); err != nil {
		return err
	}
	if err := c.makeNetwork(ctx); err != nil {
		return err
	}
	begin := time.Now()
	if err := c.startEverything(ctx); err != nil {
		return fmt.Errorf("%w\n(logs are in %s; down removes what there is)", err, filepath.Dir(c.layout.log("x")))
	}
	if err := c.waitReady(ctx, c.nodes(), begin, 3*time.Minute); err != nil {
		return err
	}
	c.record.Complete = true
	if err := c.writeRecord(); err != nil {
		return err
	}
	c.say("the cluster is up")
	return nil
}

// startEverything starts the control plane and the nodes side by side; nodes
// get as far as they can before the API server answers.
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
	if errors.Is(nodesErr, context.Canceled) { // because of the other
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
	for _, n := range c.nodes() { // in turn: loop devices are handed out one at a time
		ok, err := c.makeDisk(ctx, n)
		if err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
		c.record.Disks = c.record.Disks && ok
	}
	return together(ctx, c.nodes(), func(ctx context.Context, n node) error {
		return c.createNode(ctx, n, apiReady)
	})
}

// repair undoes every fault that was planted and waits until all is ready.
func (c *Cluster) repair(ctx context.Context) error {
	if missing, err := c.missingPrograms(control); err != nil || len(missing) > 0 {
		return errors.Join(err, fmt.Errorf("the control plane lacks %v", missing))
	}
	begin := time.Time{} // nodes that were not touched need not say anything new
	for _, n := range c.nodes() {
		touched, err := c.repairNode(ctx, n)
		if err != nil {
			return err
		}
		if touched {
			c.say("%s: brought back", n)
		}
	}
	return c.waitReady(ctx, c.nodes(), begin, time.Minute)
}
