package servers

import "syscall"

// attributes make a server die with a test binary that is killed or times out,
// where no cleanup runs.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
