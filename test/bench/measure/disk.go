package measure

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// SlowDisk returns a function that makes commands whose reads of the file's disk are limited to rate MiB/s. With a memory
// limit in MiB, the page cache cannot hold what they wrote, as in a container with that limit; 0 is no limit. It needs root
// and cgroup v1, which cannot limit buffered writes.
func SlowDisk(b *testing.B, file string, rate, memory int) func(ctx context.Context, program string, args ...string) *exec.Cmd {
	b.Helper()
	var stat syscall.Stat_t
	if err := syscall.Stat(file, &stat); err != nil {
		b.Fatal(err)
	}
	major, minor := (stat.Dev>>8)&0xfff, stat.Dev&0xff|(stat.Dev>>12)&0xfff00
	groups := []string{group(b, "blkio", "blkio.throttle.read_bps_device", fmt.Sprintf("%d:%d %d", major, minor, rate<<20))}
	if memory > 0 {
		groups = append(groups, group(b, "memory", "memory.limit_in_bytes", strconv.Itoa(memory<<20)))
	}
	return func(ctx context.Context, program string, args ...string) *exec.Cmd {
		script := ""
		for _, dir := range groups {
			script += "echo $$ > " + dir + "/cgroup.procs; "
		}
		return exec.CommandContext(ctx, "sh", append([]string{"-c", script + "exec \"$@\"", "sh", program}, args...)...)
	}
}

// group makes a cgroup with one limit. It is removed when the benchmark ends.
func group(b *testing.B, controller, file, limit string) string {
	b.Helper()
	dir := fmt.Sprintf("/sys/fs/cgroup/%s/bench-%d", controller, os.Getpid())
	if err := os.Mkdir(dir, 0o755); err != nil {
		b.Fatalf("make a cgroup (this needs root and cgroup v1): %v", err)
	}
	b.Cleanup(func() { _ = os.Remove(dir) })
	if err := os.WriteFile(filepath.Join(dir, file), []byte(limit), 0o600); err != nil {
		b.Fatalf("set %s of cgroup %s to %s: %v", file, dir, limit, err)
	}
	return dir
}
