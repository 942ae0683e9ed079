package cluster

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree writes files below a new directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		if err := writeFile(filepath.Join(root, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// version1 creates the hierarchies of a machine with cgroups of version 1.
func version1(t *testing.T) string {
	return tree(t, map[string]string{
		"cpu/cgroup.procs": "", "memory/cgroup.procs": "", "pids/cgroup.procs": "", "systemd/cgroup.procs": "",
		"freezer/cgroup.procs": "1\n", "cpuset/cgroup.procs": "", "cpuset/cpuset.cpus": "0-1\n", "cpuset/cpuset.mems": "0\n",
	})
}

func TestFindCgroups(t *testing.T) {
	t.Run("finds every hierarchy of version 1", func(t *testing.T) {
		c, err := findCgroups(version1(t))
		if err != nil || c.v2 || len(c.hierarchies) != 6 {
			t.Errorf("got %+v, error %v", c, err)
		}
	})
	t.Run("finds the one hierarchy of version 2", func(t *testing.T) {
		root := tree(t, map[string]string{"cgroup.controllers": "cpu memory"})
		c, err := findCgroups(root)
		if err != nil || !c.v2 || !slices.Equal(c.hierarchies, []string{root}) {
			t.Errorf("got %+v, error %v", c, err)
		}
	})
	t.Run("names a missing controller in the error", func(t *testing.T) {
		root := version1(t)
		if err := os.RemoveAll(filepath.Join(root, "pids")); err != nil {
			t.Fatal(err)
		}
		if _, err := findCgroups(root); err == nil || !strings.Contains(err.Error(), "controller pids") {
			t.Errorf("got %v", err)
		}
	})
}

func TestCgroups(t *testing.T) {
	root := version1(t)
	c, err := findCgroups(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.make("lk-node-1"); err != nil {
		t.Fatal(err)
	}
	t.Run("copies the parent's cpuset into a new cgroup", func(t *testing.T) {
		got, err := os.ReadFile(filepath.Join(root, "cpuset/lk-node-1/system/cpuset.cpus"))
		if err != nil || string(got) != "0-1\n" {
			t.Errorf("got %q, error %v", got, err)
		}
	})
	t.Run("lists only units of the local cluster", func(t *testing.T) {
		if err := os.MkdirAll(filepath.Join(root, "freezer/docker"), 0o755); err != nil {
			t.Fatal(err)
		}
		if got := c.units(); !slices.Equal(got, []string{"lk-node-1"}) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("finds the processes at any depth of the unit", func(t *testing.T) {
		for name, content := range map[string]string{"system": "11\n12\n", "kubepods/pod1/c": "13\n"} {
			if err := writeFile(filepath.Join(root, "freezer/lk-node-1", name, "cgroup.procs"), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := c.processes("lk-node-1")
		slices.Sort(got)
		if err != nil || !slices.Equal(got, []int{11, 12, 13}) {
			t.Errorf("got %v, error %v", got, err)
		}
	})
	t.Run("finds and kills no process if the unit does not exist", func(t *testing.T) {
		if got, err := c.processes("lk-node-2"); err != nil || len(got) > 0 {
			t.Errorf("got %v, error %v", got, err)
		}
		if err := c.kill(context.Background(), "lk-node-2"); err != nil {
			t.Error(err)
		}
	})
	t.Run("waits until the kernel reports that all processes are frozen", func(t *testing.T) {
		if err := c.freeze(context.Background(), "lk-node-1", true); err != nil {
			t.Fatal(err)
		}
		if frozen, err := c.frozen("lk-node-1"); err != nil || !frozen {
			t.Errorf("got %v, error %v", frozen, err)
		}
	})
}

func TestDelegate(t *testing.T) {
	root := tree(t, map[string]string{"cgroup.controllers": "cpu io memory\n"})
	c, err := findCgroups(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.make("lk-node-1"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", "lk-node-1"} {
		if _, err := os.Stat(filepath.Join(root, dir, "cgroup.subtree_control")); err != nil {
			t.Errorf("%q does not enable the controllers for its children: %v", dir, err)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "lk-node-1/system/cgroup.subtree_control")); err == nil {
		t.Error("system enables controllers for its children, which version 2 forbids for a cgroup with processes")
	}
}
