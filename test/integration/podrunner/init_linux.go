package podrunner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/seeder"
)

// childCommand is the first argument of a test binary that must become a container.
const childCommand = "podrunner-container"

// child describes the container that such a process becomes.
type child struct {
	Root    string
	Binds   []bind
	Program string // below Root
	Args    []string
}

// bind mounts a file or directory of this machine below Root.
type bind struct{ From, To string }

// Init turns the process into a container, or runs restore-operator's seed, if the test binary was started for that.
// Otherwise it does nothing.
func Init() {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case seed.Command:
		os.Exit(seeder.Main(ctrl.SetupSignalHandler(), os.Args[1:], os.Getenv(addressVariable)))
	case childCommand:
		err := become(os.Args[2])
		fmt.Fprintln(os.Stderr, "become a container:", err)
		os.Exit(127)
	}
}

// become mounts the container's files and replaces this process with its program. The mounts end with the process.
func become(text string) error {
	var c child
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	for _, b := range c.Binds {
		if err := syscall.Mount(b.From, filepath.Join(c.Root, b.To), "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount %s: %w", b.From, err)
		}
	}
	if err := syscall.Chroot(c.Root); err != nil {
		return fmt.Errorf("change root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	return fmt.Errorf("run %s: %w", c.Program, syscall.Exec(c.Program, append([]string{c.Program}, c.Args...), os.Environ()))
}
