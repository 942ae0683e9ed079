//go:build unix

package spool

import "syscall"

// space returns how many bytes a user who is not root can still write to the file system of dir, and its size.
func space(dir string) (free, total int64, err error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return 0, 0, err
	}
	return int64(stat.Bavail) * int64(stat.Bsize), int64(stat.Blocks) * int64(stat.Bsize), nil //nolint:unconvert // macOS has other types; no disk is that large
}
