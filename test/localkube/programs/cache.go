package programs

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// modulePath is the first line of the go.mod at the top of the repository.
const modulePath = "module github.com/etcd-suite/etcd-operator"

// A Cache keeps built programs. The name of a folder is a hash of everything
// that its content depends on, so clones and branches share equal builds only.
type Cache struct {
	source    string // the folder that contains the modules' folders
	root      string // the folder of the built programs
	goVersion string // "go1.26.8 linux/amd64"
}

// Root returns the directory of the cache: LOCALKUBE_CACHE, else XDG_CACHE_HOME/etcd-operator, else ~/.cache/etcd-operator.
func Root() (string, error) {
	root := os.Getenv("LOCALKUBE_CACHE")
	if root == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find a cache directory (set LOCALKUBE_CACHE): %w", err)
		}
		root = filepath.Join(dir, "etcd-operator")
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("resolve the cache directory: %w", err)
	}
	return root, nil
}

// Open searches the working directory and its parents for the modules. The cache is below Root.
func Open(ctx context.Context) (*Cache, error) {
	source, err := findSource()
	if err != nil {
		return nil, err
	}
	root, err := Root()
	if err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH").Output()
	if err != nil {
		return nil, fmt.Errorf("read the version of go: %w", err)
	}
	return &Cache{source: source, root: filepath.Join(root, "programs"), goVersion: strings.Join(strings.Fields(string(out)), " ")}, nil
}

func findSource() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	for d := dir; ; d = filepath.Dir(d) {
		content, err := os.ReadFile(filepath.Join(d, "go.mod"))
		if err == nil && strings.HasPrefix(string(content), modulePath+"\n") {
			return filepath.Join(d, "test", "localkube", "programs"), nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("%s is not inside the repository: neither it nor a parent has a go.mod that starts with %q", dir, modulePath)
		}
	}
}

// Dir returns the directory that holds, or will hold, the module's programs.
func (c *Cache) Dir(m Module) (string, error) {
	list, sums := m.pins()
	goMod, err := os.ReadFile(filepath.Join(c.source, m.Name, list))
	if err != nil {
		return "", fmt.Errorf("read go.mod of %s: %w", m.Name, err)
	}
	goSum, err := os.ReadFile(filepath.Join(c.source, m.Name, sums))
	if err != nil {
		return "", fmt.Errorf("read go.sum of %s: %w", m.Name, err)
	}
	parts := [][]byte{goMod, goSum}
	own, err := filepath.Glob(filepath.Join(c.source, m.Name, "*.go"))
	if err != nil {
		return "", fmt.Errorf("list the sources of %s: %w", m.Name, err)
	}
	for _, file := range own {
		source, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read the source of %s: %w", m.Name, err)
		}
		parts = append(parts, source)
	}
	return filepath.Join(c.root, m.Name+"-"+key(m, c.goVersion, parts...)), nil
}

// key is a short hash of everything that a build's result depends on.
func key(m Module, goVersion string, files ...[]byte) string {
	h := sha256.New()
	for _, part := range append([][]byte{[]byte(goVersion), []byte(strings.Join(arguments(m), "\x00"))}, files...) {
		fmt.Fprintf(h, "%d\n%s", len(part), part) // the length marks where a part ends
	}
	return fmt.Sprintf("%x", h.Sum(nil))[:12]
}

// arguments returns the arguments of go build, without the output directory.
func arguments(m Module) []string {
	return append([]string{"-trimpath", "-ldflags", strings.TrimSpace("-s -w " + m.LDFlags)}, m.packages()...)
}

// Built reports whether the module's programs are in the cache.
func (c *Cache) Built(m Module) (bool, error) {
	dir, err := c.Dir(m)
	if err != nil {
		return false, err
	}
	_, err = os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the built programs of %s: %w", m.Name, err)
	}
	return true, nil
}

// Bin returns a directory with a symlink for each built program. Its name is a
// hash of all modules, so two clones with different modules have two directories.
func (c *Cache) Bin() (string, error) {
	h := sha256.New()
	links := map[string]string{}
	for _, m := range Modules() {
		dir, err := c.Dir(m)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, filepath.Base(dir))
		built, err := c.Built(m)
		if err != nil {
			return "", err
		}
		for name, file := range m.Links() {
			if built {
				links[name] = filepath.Join(dir, file)
			}
		}
	}
	bin := filepath.Join(c.root, "bin-"+fmt.Sprintf("%x", h.Sum(nil))[:12])
	for name, target := range links {
		if err := link(filepath.Join(bin, name), target); err != nil {
			return "", err
		}
	}
	return bin, os.MkdirAll(bin, 0o755)
}

// link makes name a symlink to target. It replaces an old symlink atomically.
func link(name, target string) error {
	if old, err := os.Readlink(name); err == nil && old == target {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("create the bin directory: %w", err)
	}
	temporary := fmt.Sprintf("%s.%d", name, os.Getpid())
	if err := os.Symlink(target, temporary); err != nil {
		return fmt.Errorf("link %s: %w", name, err)
	}
	if err := os.Rename(temporary, name); err != nil {
		return fmt.Errorf("link %s: %w", name, err)
	}
	return nil
}
