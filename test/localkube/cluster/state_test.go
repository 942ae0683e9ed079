package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func stateCluster(t *testing.T) *Cluster {
	t.Helper()
	return &Cluster{layout: layout{state: filepath.Join(t.TempDir(), "state")}, logf: func(string, ...any) {}}
}

func TestLock(t *testing.T) {
	t.Run("makes the second process wait for the first, even if the first removes the directory", func(t *testing.T) {
		c := stateCluster(t)
		unlock, err := c.lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		second := make(chan error, 1)
		go func() {
			release, err := c.lock(t.Context())
			if err == nil {
				release()
			}
			second <- err
		}()
		select {
		case err := <-second:
			t.Fatalf("the second process did not wait, error %v", err)
		case <-time.After(300 * time.Millisecond):
		}
		if err := os.Remove(c.layout.state); err != nil {
			t.Fatal(err)
		}
		unlock()
		if err := <-second; err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(c.layout.state); err != nil {
			t.Errorf("the second process has a lock, but the state directory does not exist: %v", err)
		}
	})
}

func TestCheckContent(t *testing.T) {
	cases := map[string]struct {
		file string
		ok   bool
	}{
		"accepts an empty directory":                      {"", true},
		"accepts a directory with the marker":             {"cluster.json", true},
		"refuses a directory with a foreign file":         {"thesis.tex", false},
		"refuses a directory with a foreign subdirectory": {"photos/1.jpg", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := stateCluster(t)
			if err := os.MkdirAll(c.layout.state, 0o755); err != nil {
				t.Fatal(err)
			}
			if tc.file != "" {
				if err := writeFile(filepath.Join(c.layout.state, tc.file), []byte("{}"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.checkContent(); (err == nil) != tc.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestEmpty(t *testing.T) {
	t.Run("removes everything except the directory, which holds the lock", func(t *testing.T) {
		c := stateCluster(t)
		c.record = record{Nodes: 2}
		if err := c.writeRecord(); err != nil {
			t.Fatal(err)
		}
		if err := writeFile(c.layout.log("x"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := c.empty(); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(c.layout.state); err != nil || len(left) > 0 || c.record.Nodes != 0 {
			t.Errorf("left %v, record %+v, error %v", left, c.record, err)
		}
	})
}

func TestMountsBelow(t *testing.T) {
	mountinfo := strings.Join([]string{
		"22 1 0:21 / /proc rw - proc proc rw",
		"30 1 7:0 / /state/node-1/volumes rw - ext4 /dev/loop0 rw",
		"31 30 7:1 / /state/node-1/volumes/deeper rw - ext4 /dev/loop1 rw",
		"32 1 7:2 / /state2/node-1/volumes rw - ext4 /dev/loop2 rw",
		"33 1 7:3 / /state rw - ext4 /dev/loop3 rw",
	}, "\n")
	got := strings.Join(mountsBelow(mountinfo, "/state"), " ")
	if want := "/state/node-1/volumes/deeper /state/node-1/volumes"; got != want {
		t.Errorf("got %s, want %s: only mounts below /state, deepest first", got, want)
	}
}

func TestReusable(t *testing.T) {
	for name, tc := range map[string]struct {
		is   record
		want bool
	}{
		"accepts the same nodes and programs":       {record{Nodes: 3, Bin: "/b", Complete: true}, true},
		"refuses a cluster that was never ready":    {record{Nodes: 3, Bin: "/b"}, false},
		"refuses a cluster of another size":         {record{Nodes: 1, Bin: "/b", Complete: true}, false},
		"refuses a cluster with different programs": {record{Nodes: 3, Bin: "/old", Complete: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := stateCluster(t)
			c.record = tc.is
			if got := c.reusable(Options{Nodes: 3, Bin: "/b"}); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
