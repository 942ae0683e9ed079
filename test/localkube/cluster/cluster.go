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

// stateVariable is the environment variable of the state directory. Every program
// that localkube starts has it, too.
const (
	stateVariable = "LOCALKUBE_STATE"
	defaultState  = "/var/tmp/etcd-operator-localkube"
)

// ErrNotUp is returned if the state directory holds no cluster.
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
	logf    func(format string, args ...any)
}

// record is the part of a cluster's configuration that is stored in a file. The
// state of its programs is never stored, but observed.
type record struct {
	Nodes     int    `json:"nodes"`
	Bin       string `json:"bin"`
	Complete  bool   `json:"complete"`  // the whole cluster was ready once
	MadeNetns bool   `json:"madeNetns"` // localkube created /run/netns
	Disks     bool   `json:"disks"`     // every node has a separate disk for volumes
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

// find returns the cluster of the state directory. Its record is zero if there is none.
func find(state string) (*Cluster, error) {
	if !filepath.IsAbs(state) {
		return nil, fmt.Errorf("the state directory %q must be an absolute path", state)
	}
	groups, err := findCgroups("/sys/fs/cgroup")
	if err != nil {
		return nil, err
	}
	c := &Cluster{layout: layout{state: state}, cgroups: groups, logf: func(string, ...any) {}}
	return c, c.readRecord()
}

func (c *Cluster) readRecord() error {
	c.record = record{}
	content, err := os.ReadFile(c.layout.marker())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the record of the cluster: %w", err)
	}
	if err := json.Unmarshal(content, &c.record); err != nil {
		return fmt.Errorf("read the record of the cluster in %s: %w", c.layout.marker(), err)
	}
	c.bin = c.record.Bin
	return nil
}

func (c *Cluster) writeRecord() error {
	content, err := json.MarshalIndent(c.record, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the record of the cluster: %w", err)
	}
	return writeFile(c.layout.marker(), append(content, '\n'), 0o644)
}

// Kubeconfig is the path of the administrator's kubeconfig. It contains its
// certificates and refers to no other file.
func (c *Cluster) Kubeconfig() string { return c.layout.kubeconfig() }

// Bin is the directory with kubectl and the other programs.
func (c *Cluster) Bin() string { return c.bin }

// Nodes returns the names of the nodes in Kubernetes. The name of node N is at index N-1.
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
		return 0, fmt.Errorf("the cluster has no node %d: its nodes are 1 to %d", number, c.record.Nodes)
	}
	return node(number), nil
}

// progress returns a function that writes a line with the time since the call of
// progress. Concurrent calls do not mix their lines.
func progress(w io.Writer) func(string, ...any) {
	var mu sync.Mutex
	begin := time.Now()
	return func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(w, "%5.1fs  %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
	}
}

// lock ensures that only one process at a time creates or removes the cluster. The
// lock is on the state directory itself, so it leaves no file behind. The kernel
// releases it when its holder ends.
func (c *Cluster) lock(ctx context.Context) (func(), error) {
	reported := false
	var held *os.File
	err := poll(ctx, 10*time.Minute, 200*time.Millisecond, "another process that creates or removes the cluster", func() (bool, error) {
		if err := os.MkdirAll(c.layout.state, 0o755); err != nil {
			return false, err
		}
		dir, err := os.Open(c.layout.state)
		if err != nil {
			return false, err
		}
		if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			_ = dir.Close()
			if !reported {
				c.logf("another process is creating or removing this cluster; waiting until it is done")
			}
			reported = true
			return false, nil
		}
		if !sameFile(dir, c.layout.state) { // the previous holder removed the directory
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

// checkPath refuses a state directory that cannot work.
func (c *Cluster) checkPath() error {
	if len(c.layout.state) > maxStatePath {
		return fmt.Errorf("the path of the state directory, %s, is too long: unix sockets in it limit it to %d bytes", c.layout.state, maxStatePath)
	}
	return visible(c.layout.state, "the state directory (set "+stateVariable+")")
}

// checkContent refuses a state directory with foreign files, because Down would remove them.
func (c *Cluster) checkContent() error {
	state := c.layout.state
	entries, err := os.ReadDir(state)
	if err != nil {
		return fmt.Errorf("list the state directory: %w", err)
	}
	if _, err := os.Stat(c.layout.marker()); err != nil && len(entries) > 0 {
		return fmt.Errorf("the state directory %s contains files of another program: choose an empty directory or one that does not exist (%s)", state, stateVariable)
	}
	return nil
}

// visible refuses paths that are hidden in a node's mount namespace, where the
// node's own directories replace them.
func visible(path, what string) error {
	for _, hidden := range []string{"/run", "/var/run", "/var/lib", "/var/log"} {
		if path == hidden || strings.HasPrefix(path, hidden+"/") {
			return fmt.Errorf("%s is %s, but nodes cannot see it because each has its own %s: choose another directory", what, path, hidden)
		}
	}
	return nil
}

// AuditLog is the path of the API server's log of the writes of the operators in the namespace etcd-operator, one JSON
// object a line.
func (c *Cluster) AuditLog() string { return c.layout.log("audit") }
