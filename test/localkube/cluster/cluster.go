package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stateVariable names the state directory, to this program and in the
// environment of all that it starts.
const (
	stateVariable = "LOCALKUBE_STATE"
	defaultState  = "/var/tmp/etcd-operator-localkube"
)

// ErrNotUp says that there is no cluster in the state directory.
var ErrNotUp = errors.New("no local cluster")

// StateDir returns LOCALKUBE_STATE, or the default.
func StateDir() string {
	if dir := os.Getenv(stateVariable); dir != "" {
		return filepath.Clean(dir)
	}
	return defaultState
}

// A Cluster is a local Kubernetes.
type Cluster struct {
	layout  layout
	cgroups cgroups
	bin     string // the directory with the programs
	record  record
	say     func(format string, args ...any)
}

// record is what is kept of a cluster: the choices made for it. What its parts
// are doing is never written down, but looked at.
type record struct {
	Nodes     int    `json:"nodes"`
	Bin       string `json:"bin"`
	Complete  bool   `json:"complete"`  // it was once ready as a whole
	MadeNetns bool   `json:"madeNetns"` // /run/netns did not exist before
	Disks     bool   `json:"disks"`     // every node has a disk of its own for volumes
}

// Open returns the cluster of the state directory, or an error that wraps
// ErrNotUp.
func Open(state string) (*Cluster, error) {
	c, err := find(state)
	if err != nil {
		return nil, err
	}
	if !c.record.Complete {
		return nil, fmt.Errorf("%w in %s", ErrNotUp, state)
	}
	return c, nil
}

// find returns what there is of a cluster: its record is zero if nothing is.
func find(state string) (*Cluster, error) {
	if !filepath.IsAbs(state) {
		return nil, fmt.Errorf("the state directory %q must be an absolute path", state)
	}
	groups, err := findCgroups("/sys/fs/cgroup")
	if err != nil {
		return nil, err
	}
	c := &Cluster{layout: layout{state: state}, cgroups: groups, say: func(string, ...any) {}}
	return c, c.readRecord()
}

func (c *Cluster) readRecord() error {
	c.record = record{}
	content, err := os.ReadFile(c.layout.marker())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what is known of the cluster: %w", err)
	}
	if err := json.Unmarshal(content, &c.record); err != nil {
		return fmt.Errorf("read what is known of the cluster in %s: %w", c.layout.marker(), err)
	}
	c.bin = c.record.Bin
	return nil
}

func (c *Cluster) writeRecord() error {
	content, err := json.MarshalIndent(c.record, "", "  ")
	if err != nil {
		return fmt.Errorf("encode what is known of the cluster: %w", err)
	}
	return writeFile(c.layout.marker(), append(content, '\n'), 0o644)
}

// Kubeconfig is the path of the administrator's kubeconfig; it holds all that
// it refers to.
func (c *Cluster) Kubeconfig() string { return c.layout.kubeconfig() }

// Bin is the directory with kubectl and the other programs.
func (c *Cluster) Bin() string { return c.bin }

// Nodes gives the names of the nodes in Kubernetes; node N is the Nth.
func (c *Cluster) Nodes() []string {
	var names []string
	for _, n := range c.nodes() {
		names = append(names, n.String())
	}
	return names
}

func (c *Cluster) nodes() []node { return nodesUpTo(c.record.Nodes) }

// pick checks a node's number.
func (c *Cluster) pick(number int) (node, error) {
	if number < 1 || number > c.record.Nodes {
		return 0, fmt.Errorf("no node %d: the cluster has 1 to %d", number, c.record.Nodes)
	}
	return node(number), nil
}

// progress writes lines with the time since its making, whole lines at once.
func progress(w io.Writer) func(string, ...any) {
	var mu sync.Mutex
	begin := time.Now()
	return func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(w, "%5.1fs  %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
	}
}

// lock lets one process at a time make or unmake the cluster. The lock is on
// the state directory itself, so that nothing is left of it; the kernel
// releases it when its holder ends.
func (c *Cluster) lock(ctx context.Context) (func(), error) {
	told := false
	var held *os.File
	err := poll(ctx, 10*time.Minute, 200*time.Millisecond, "another process that makes or unmakes the cluster", func() (bool, error) {
		if err := os.MkdirAll(c.layout.state, 0o755); err != nil {
			return false, err
		}
		dir, err := os.Open(c.layout.state)
		if err != nil {
			return false, err
		}
		if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			_ = dir.Close()
			if !told {
				c.say("another process makes or unmakes this cluster: waiting for it")
			}
			told = true
			return false, nil
		}
		if !sameFile(dir, c.layout.state) { // the holder before us removed the directory
			return false, dir.Close()
		}
		held = dir
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = held.Close() }, nil
}

func sameFile(open *os.File, path string) bool {
	a, err := open.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// checkPath refuses a state directory that would not work.
func (c *Cluster) checkPath() error {
	if len(c.layout.state) > maxStatePath {
		return fmt.Errorf("the state directory %s is too long: unix sockets in it allow %d bytes", c.layout.state, maxStatePath)
	}
	return visible(c.layout.state, "the state directory (set "+stateVariable+")")
}

// checkContent refuses a state directory that holds what is not ours to remove.
func (c *Cluster) checkContent() error {
	state := c.layout.state
	entries, err := os.ReadDir(state)
	if err != nil {
		return fmt.Errorf("look into the state directory: %w", err)
	}
	if _, err := os.Stat(c.layout.marker()); err != nil && len(entries) > 0 {
		return fmt.Errorf("the state directory %s holds something else: it must be empty or absent", state)
	}
	return nil
}

// visible refuses paths that a node does not see, since it has directories of
// its own in their place.
func visible(path, what string) error {
	for _, hidden := range []string{"/run", "/var/run", "/var/lib", "/var/log"} {
		if path == hidden || strings.HasPrefix(path, hidden+"/") {
			return fmt.Errorf("%s is %s, but nodes have a %s of their own and would not see it: choose another place", what, path, hidden)
		}
	}
	return nil
}
