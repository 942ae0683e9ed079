package cluster

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A tool is a system program that the cluster needs.
type tool struct {
	file, debianPackage string
}

var tools = []tool{
	{"ip", "iproute2"},
	{"nft", "nftables"}, // for kube-proxy
	{"runc", "runc"},
	{"busybox", "busybox-static"},
	{"nsenter", "util-linux"},
	{"unshare", "util-linux"},
	{"mount", "mount"},
	{"losetup", "mount"},
	{"mkfs.ext4", "e2fsprogs"},
}

// systemPath is searched after PATH, because a user's PATH often lacks sbin.
var systemPath = []string{"/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"}

// findTool returns the path of a program. It returns a path unchanged.
func findTool(file string) (string, error) {
	if path, err := exec.LookPath(file); err == nil {
		return path, nil
	}
	for _, dir := range systemPath {
		if path, err := exec.LookPath(filepath.Join(dir, file)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("the program %s is not in PATH", file)
}

// findStatic finds a statically linked tool, which can run alone in an image.
func findStatic(file string) (string, error) {
	path, err := findTool(file)
	if err != nil {
		return "", err
	}
	binary, err := elf.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the executable %s: %w", path, err)
	}
	defer func() { _ = binary.Close() }()
	for _, p := range binary.Progs {
		if p.Type == elf.PT_INTERP {
			return "", fmt.Errorf("%s is linked dynamically, so it cannot run alone in an image", path)
		}
	}
	return path, nil
}

// missingPackages lists the Debian packages of the missing tools.
func missingPackages() []string {
	var packages []string
	for _, t := range tools {
		find := findTool
		if t.file == "busybox" {
			find = findStatic
		}
		if _, err := find(t.file); err != nil && !slices.Contains(packages, t.debianPackage) {
			packages = append(packages, t.debianPackage)
		}
	}
	return packages
}

// Require checks that this machine can run a cluster. On Debian it installs the
// missing packages. Call it before a build, which takes minutes and would be
// useless on a machine that cannot run a cluster.
func Require(ctx context.Context, logf func(format string, args ...any)) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("a local cluster needs root for network namespaces, cgroups and mounts: run as root, or set KUBECONFIG to use another cluster")
	}
	if _, err := findCgroups("/sys/fs/cgroup"); err != nil {
		return err
	}
	missing := missingPackages()
	if len(missing) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("this machine lacks programs of these Debian packages: %s. Install them", strings.Join(missing, " "))
	}
	logf("installing the system packages %s", strings.Join(missing, " "))
	if err := install(ctx, missing); err != nil {
		return err
	}
	if still := missingPackages(); len(still) > 0 {
		return fmt.Errorf("the programs of these packages are still missing after their installation: %s", strings.Join(still, " "))
	}
	return nil
}

func install(ctx context.Context, packages []string) error {
	installation := append([]string{"install", "-y", "-q", "--no-install-recommends"}, packages...)
	if apt(ctx, installation...) == nil {
		return nil
	}
	// A fresh machine has no package lists yet.
	if err := apt(ctx, "update", "-q"); err != nil {
		return err
	}
	return apt(ctx, installation...)
}

func apt(ctx context.Context, args ...string) error {
	// A stalled download ends, and is tried again.
	patience := []string{"-o", "Acquire::http::Timeout=30", "-o", "Acquire::Retries=3"}
	cmd := exec.CommandContext(ctx, "apt-get", append(patience, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
