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

// A tool is a program of the system that the cluster needs.
type tool struct {
	file, debianPackage string
}

var tools = []tool{
	{"ip", "iproute2"},
	{"nft", "nftables"}, // kube-proxy's
	{"runc", "runc"},
	{"busybox", "busybox-static"},
	{"nsenter", "util-linux"},
	{"unshare", "util-linux"},
	{"mount", "mount"},
	{"losetup", "mount"},
	{"mkfs.ext4", "e2fsprogs"},
}

// systemPath is searched beside PATH: a user's own often lacks sbin.
var systemPath = []string{"/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"}

// findTool resolves the name of a program; a path it takes as it is.
func findTool(file string) (string, error) {
	if path, err := exec.LookPath(file); err == nil {
		return path, nil
	}
	for _, dir := range systemPath {
		if path, err := exec.LookPath(filepath.Join(dir, file)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no program %s in PATH", file)
}

// findStatic finds a tool that needs no other file: one that can be an image.
func findStatic(file string) (string, error) {
	path, err := findTool(file)
	if err != nil {
		return "", err
	}
	binary, err := elf.Open(path)
	if err != nil {
		return "", fmt.Errorf("look into %s: %w", path, err)
	}
	defer func() { _ = binary.Close() }()
	for _, p := range binary.Progs {
		if p.Type == elf.PT_INTERP {
			return "", fmt.Errorf("%s is linked dynamically, and would not run alone in an image", path)
		}
	}
	return path, nil
}

// missingPackages names Debian's packages of the tools that are not there.
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

// Require checks that this machine can run a cluster, and on Debian installs
// the packages it lacks. It comes before anything is built: a build of minutes
// is no good news where nothing can run.
func Require(ctx context.Context, say func(format string, args ...any)) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("a local cluster needs root (network namespaces, cgroups, mounts): run as root, or give KUBECONFIG of another cluster")
	}
	if _, err := findCgroups("/sys/fs/cgroup"); err != nil {
		return err
	}
	missing := missingPackages()
	if len(missing) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("programs are missing that Debian has in the packages %s: install them", strings.Join(missing, " "))
	}
	say("installing the system's packages %s", strings.Join(missing, " "))
	if err := install(ctx, missing); err != nil {
		return err
	}
	if still := missingPackages(); len(still) > 0 {
		return fmt.Errorf("still missing after their installation: %s", strings.Join(still, " "))
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
	cmd := exec.CommandContext(ctx, "apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
