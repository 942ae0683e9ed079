package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
)

// diskSize is the size of each node's disk for volumes. The file is sparse: it
// occupies only what is written to it.
const diskSize = 8 << 30

// fillFile is the file that fills a node's disk. No volume has that name.
const fillFile = ".lk-fill"

// makeDisk creates a small file system for the node's volumes, so that a test can
// fill it. It returns false if the machine has no loop devices.
func (c *Cluster) makeDisk(ctx context.Context, n node) (bool, error) {
	volumes, file := c.layout.node(n, "volumes"), c.layout.node(n, "disk.img")
	if err := os.MkdirAll(volumes, 0o755); err != nil {
		return false, fmt.Errorf("create the volumes directory: %w", err)
	}
	if err := writeFile(file, nil, 0o600); err != nil {
		return false, err
	}
	if err := os.Truncate(file, diskSize); err != nil {
		return false, fmt.Errorf("resize %s: %w", file, err)
	}
	// No journal is needed, because no data has to survive a crash of the machine.
	if _, err := execute(ctx, "", "mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", "-E", "lazy_itable_init=1,nodiscard", file); err != nil {
		return false, fmt.Errorf("format the disk: %w", err)
	}
	if _, err := execute(ctx, "", "mount", "-o", "loop,noatime", file, volumes); err != nil {
		c.logf("%s has no separate disk for volumes, so node fill will not work: %v", n, err)
		return false, os.Remove(file)
	}
	return true, nil
}

// unmount unmounts everything below the state directory, deepest mounts first.
func (c *Cluster) unmount(ctx context.Context) error {
	content, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("list the mounts: %w", err)
	}
	for _, point := range mountsBelow(string(content), c.layout.state) {
		if _, err := execute(ctx, "", "umount", point); err != nil {
			return fmt.Errorf("unmount: %w", err)
		}
	}
	return nil
}

// mountsBelow returns the mount points below dir in mountinfo, deepest and latest first.
func mountsBelow(mountinfo, dir string) []string {
	var points []string
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) > 4 && strings.HasPrefix(fields[4], dir+"/") {
			points = append(points, fields[4])
		}
	}
	sort.Sort(sort.Reverse(sort.StringSlice(points)))
	return points
}

// FillNode allocates size bytes of the node's disk for volumes, or all free space
// if size is 0. UnfillNode undoes it.
func (c *Cluster) FillNode(_ context.Context, number int, size int64) error {
	n, err := c.pick(number)
	if err != nil {
		return err
	}
	if !c.record.Disks {
		return fmt.Errorf("%s cannot be filled: it has no separate disk for volumes, because this machine has no loop devices", n)
	}
	file, err := os.OpenFile(c.layout.node(n, filepath.Join("volumes", fillFile)), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("fill the disk of %s: %w", n, err)
	}
	defer file.Close()
	if err := fill(file, size); err != nil {
		return fmt.Errorf("fill the disk of %s: %w", n, err)
	}
	return nil
}

// fill allocates size more bytes. If size is 0, it allocates all free space, in
// steps that it halves whenever one no longer fits.
func fill(file *os.File, size int64) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	end := info.Size()
	if size > 0 {
		return syscall.Fallocate(int(file.Fd()), 0, end, size)
	}
	for step := int64(1 << 30); step >= 4096; {
		err := syscall.Fallocate(int(file.Fd()), 0, end, step)
		switch {
		case err == nil:
			end += step
		case errors.Is(err, syscall.ENOSPC):
			step /= 2
		case !errors.Is(err, syscall.EINTR):
			return err
		}
	}
	return nil
}

// UnfillNode frees the space that FillNode allocated.
func (c *Cluster) UnfillNode(_ context.Context, number int) error {
	n, err := c.pick(number)
	if err != nil {
		return err
	}
	err = os.Remove(c.layout.node(n, filepath.Join("volumes", fillFile)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("free the disk of %s: %w", n, err)
	}
	return nil
}
