package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cgroups describes where the machine's cgroups are mounted. Version 2 has one
// hierarchy. Version 1 has one for each controller, and a process must be moved
// in each of them, or it stays in the cgroup of its parent.
type cgroups struct {
	hierarchies []string // mount points
	freezer     string   // the hierarchy that freezes and lists processes
	v2          bool
}

// findCgroups finds the hierarchies below root, which is /sys/fs/cgroup.
func findCgroups(root string) (cgroups, error) {
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		return cgroups{hierarchies: []string{root}, freezer: root, v2: true}, nil
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return cgroups{}, fmt.Errorf("find the cgroups: %w", err)
	}
	c := cgroups{freezer: filepath.Join(root, "freezer")}
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		// A symlink is a second name of a hierarchy: cpu links to cpu,cpuacct.
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil && e.IsDir() {
			c.hierarchies = append(c.hierarchies, dir)
		}
	}
	for _, need := range []string{"cpu", "cpuset", "memory", "pids", "freezer"} {
		if _, err := os.Stat(filepath.Join(root, need, "cgroup.procs")); err != nil {
			return cgroups{}, fmt.Errorf("%s has no cgroup controller %s, which the kubelet and runc need: check that /sys/fs/cgroup is mounted and writable in this container", root, need)
		}
	}
	return c, nil
}

// make creates a unit's cgroup in every hierarchy, with a child "system" for
// the node's own programs. Pods get a different child, because version 2 allows
// no process in a cgroup whose children have controllers.
func (c cgroups) make(unit string) error {
	for _, h := range c.hierarchies {
		system := filepath.Join(h, unit, "system")
		if err := os.MkdirAll(system, 0o755); err != nil {
			return fmt.Errorf("create the cgroup %s (check that %s is writable): %w", system, h, err)
		}
		for _, dir := range []string{filepath.Join(h, unit), system} {
			if c.v2 {
				continue
			}
			if err := inheritCPUSet(dir); err != nil {
				return err
			}
		}
	}
	if c.v2 {
		return c.delegate(unit)
	}
	return nil
}

// inheritCPUSet copies the parent's cpuset into a new cgroup. Version 1 leaves it
// empty, and no process can enter a cgroup with an empty cpuset.
func inheritCPUSet(dir string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		parent, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read the parent's %s of %s: %w", file, dir, err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), parent, 0o644); err != nil {
			return fmt.Errorf("set %s of %s: %w", file, dir, err)
		}
	}
	return nil
}

// delegate enables every controller for the unit's children.
func (c cgroups) delegate(unit string) error {
	root := c.hierarchies[0]
	available, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("read the cgroup controllers: %w", err)
	}
	for _, dir := range []string{root, filepath.Join(root, unit)} {
		for _, controller := range strings.Fields(string(available)) {
			err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0o644)
			if err != nil && slices.Contains([]string{"cpu", "cpuset", "memory", "pids"}, controller) {
				return fmt.Errorf("enable the cgroup controller %s below %s: %w", controller, dir, err)
			}
		}
	}
	return nil
}

// procsFiles returns the files to which a process writes its ID to join the unit.
func (c cgroups) procsFiles(unit string) []string {
	var files []string
	for _, h := range c.hierarchies {
		files = append(files, filepath.Join(h, unit, "system", "cgroup.procs"))
	}
	return files
}

// units lists the cgroups of the local cluster that exist in any hierarchy.
func (c cgroups) units() []string {
	var found []string
	for _, h := range c.hierarchies {
		dirs, _ := filepath.Glob(filepath.Join(h, prefix+"*"))
		for _, dir := range dirs {
			if !slices.Contains(found, filepath.Base(dir)) {
				found = append(found, filepath.Base(dir))
			}
		}
	}
	slices.Sort(found)
	return found
}

// processes lists the process IDs in the unit and below it.
func (c cgroups) processes(unit string) ([]int, error) {
	var pids []int
	err := filepath.WalkDir(filepath.Join(c.freezer, unit), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the kubelet may remove a Pod's cgroup during the walk
		}
		if err != nil || !e.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENODEV) {
			return err
		}
		for _, field := range strings.Fields(string(content)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the processes of %s: %w", unit, err)
	}
	return pids, nil
}

// freeze freezes or thaws every process of the unit, and those that it starts later.
func (c cgroups) freeze(ctx context.Context, unit string, frozen bool) error {
	file, value := filepath.Join(c.freezer, unit, "freezer.state"), "THAWED"
	if frozen {
		value = "FROZEN"
	}
	if c.v2 {
		file, value = filepath.Join(c.freezer, unit, "cgroup.freeze"), map[bool]string{true: "1", false: "0"}[frozen]
	}
	if err := os.WriteFile(file, []byte(value), 0o644); err != nil {
		return fmt.Errorf("freeze or thaw %s: %w", unit, err)
	}
	return poll(ctx, 20*time.Second, 20*time.Millisecond, fmt.Sprintf("%s to be %s", unit, value), func() (bool, error) {
		now, err := c.frozen(unit)
		return now == frozen, err
	})
}

// frozen reports whether every process of the unit is frozen.
func (c cgroups) frozen(unit string) (bool, error) {
	file, want := filepath.Join(c.freezer, unit, "freezer.state"), "FROZEN"
	if c.v2 {
		file, want = filepath.Join(c.freezer, unit, "cgroup.events"), "frozen 1"
	}
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read whether %s is frozen: %w", unit, err)
	}
	return strings.Contains(string(content), want), nil
}

// kill sends SIGKILL to every process of the unit, as in a power failure, and
// returns when all have ended.
func (c cgroups) kill(ctx context.Context, unit string) error {
	if _, err := os.Stat(filepath.Join(c.freezer, unit)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := c.freeze(ctx, unit, false); err != nil {
		return err
	}
	return poll(ctx, time.Minute, 20*time.Millisecond, "the processes of "+unit+" to end", func() (bool, error) {
		pids, err := c.processes(unit)
		for _, pid := range pids {
			// The process was in the cgroup just now, and IDs are not reused that fast.
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return false, fmt.Errorf("kill process %d of %s: %w", pid, unit, err)
			}
		}
		return len(pids) == 0, err
	})
}

// remove removes the unit's cgroups. They must have no processes.
func (c cgroups) remove(ctx context.Context, unit string) error {
	for _, h := range c.hierarchies {
		err := poll(ctx, 10*time.Second, 50*time.Millisecond, "the cgroup "+filepath.Join(h, unit)+" to be removed", func() (bool, error) {
			removeTree(filepath.Join(h, unit))
			_, err := os.Stat(filepath.Join(h, unit))
			return errors.Is(err, fs.ErrNotExist), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// removeTree removes the directories below dir, then dir. The kernel removes
// their files with them. A busy directory is kept, and the caller retries.
func removeTree(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			removeTree(filepath.Join(dir, e.Name()))
		}
	}
	_ = syscall.Rmdir(dir)
}
