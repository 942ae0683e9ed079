//go:build unix

package restoretest

import "syscall"

// limitData makes allocations of this process fail above that many bytes.
func limitData(memory uint64) error {
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: memory, Max: memory})
}
