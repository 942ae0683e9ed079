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

// cgroups is where the machine's cgroups are mounted: one hierarchy (version
// 2), or one for each controller (version 1), where a process has to be put
// into each, lest it stay bound to whoever started it.
type cgroups struct {
	hierarchies []string // mount points
	freezer     string   // the one of them that freezes and counts processes
	v2          bool
}

// findCgroups looks below root, which is /sys/fs/cgroup.
func findCgroups(root string) (cgroups, error) {
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		return cgroups{hierarchies: []string{root}, freezer: root, v2: true}, nil
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return cgroups{}, fmt.Errorf("look for cgroups: %w", err)
	}
	c := cgroups{freezer: filepath.Join(root, "freezer")}
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		// A symlink is a second name of a hierarchy (cpu of cpu,cpuacct).
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil && e.IsDir() {
			c.hierarchies = append(c.hierarchies, dir)
		}
	}
	for _, need := range []string{"cpu", "cpuset", "memory", "pids", "freezer"} {
		if _, err := os.Stat(filepath.Join(root, need, "cgroup.procs")); err != nil {
			return cgroups{}, fmt.Errorf("kubelet and runc need the cgroup controller %s, and %s has none: is /sys/fs/cgroup mounted, and writable in this container?", need, root)
		}
	}
	return c, nil
}

// make creates a unit's cgroup in every hierarchy, with a child "system" for
// the node's own programs: Pods get another, since version 2 allows no
// process in a cgroup that has children with controllers.
func (c cgroups) make(unit string) error {
	for _, h := range c.hierarchies {
		system := filepath.Join(h, unit, "system")
		if err := os.MkdirAll(system, 0o755); err != nil {
			return fmt.Errorf("make the cgroup %s (is %s writable?): %w", system, h, err)
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

// inheritCPUSet fills in what version 1 leaves empty in a new cgroup, and
// without which no process may enter it.
func inheritCPUSet(dir string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		parent, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read the cpuset above %s: %w", dir, err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), parent, 0o644); err != nil {
			return fmt.Errorf("fill in %s of %s: %w", file, dir, err)
		}
	}
	return nil
}

// delegate passes every controller down to the unit's children.
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

// entrances are the files that a process writes its ID to, to join the unit.
func (c cgroups) entrances(unit string) []string {
	var files []string
	for _, h := range c.hierarchies {
		files = append(files, filepath.Join(h, unit, "system", "cgroup.procs"))
	}
	return files
}

// units lists the cgroups of ours that exist, in whatever hierarchy.
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
			return nil // a Pod's cgroup may go while this walks
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

// freeze stops or resumes every process of the unit, present and to come.
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

// frozen says whether every process of the unit is stopped by freeze.
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

// kill ends every process of the unit, at once and without their consent, as
// a power cut would, and returns when none is left.
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
			// In the cgroup a moment ago: it is ours, and IDs are not reused that fast.
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return false, fmt.Errorf("kill process %d of %s: %w", pid, unit, err)
			}
		}
		return len(pids) == 0, err
	})
}

// remove deletes the unit's cgroups, which have no process any more.
func (c cgroups) remove(ctx context.Context, unit string) error {
	for _, h := range c.hierarchies {
		err := poll(ctx, 10*time.Second, 50*time.Millisecond, "the cgroup "+filepath.Join(h, unit)+" to go", func() (bool, error) {
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

// removeTree removes the directories below dir, then dir: their files are the
// kernel's, and go with them. What is still busy stays for another try.
func removeTree(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			removeTree(filepath.Join(dir, e.Name()))
		}
	}
	_ = syscall.Rmdir(dir)
}
