package servers

import "syscall"

// attributes make the kernel kill a server when its test binary ends. So a server
// also ends if the binary is killed or times out and no cleanup runs.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
