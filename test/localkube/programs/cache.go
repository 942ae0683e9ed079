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

// A Cache keeps built programs. Its folders are named by all that decides
// their content, so clones and branches share what is alike and never see
// what is not.
type Cache struct {
	source    string // the folder with the modules' folders
	root      string // where built programs are kept
	goVersion string // "go1.26.8 linux/amd64"
}

// Open finds the modules from the working directory upwards and the cache in
// LOCALKUBE_CACHE, else XDG_CACHE_HOME/etcd-operator, else ~/.cache/etcd-operator.
func Open(ctx context.Context) (*Cache, error) {
	source, err := findSource()
	if err != nil {
		return nil, err
	}
	root := os.Getenv("LOCALKUBE_CACHE")
	if root == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("find a cache directory (set LOCALKUBE_CACHE): %w", err)
		}
		root = filepath.Join(dir, "etcd-operator")
	}
	if root, err = filepath.Abs(root); err != nil {
		return nil, fmt.Errorf("resolve the cache directory: %w", err)
	}
	out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH").Output()
	if err != nil {
		return nil, fmt.Errorf("ask go for its version: %w", err)
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
			return "", fmt.Errorf("%s is not inside the repository: no go.mod from there upwards starts with %q", dir, modulePath)
		}
	}
}

// Dir returns the directory that holds, or will hold, the module's programs.
func (c *Cache) Dir(m Module) (string, error) {
	list, sums := m.pins()
	goMod, err := os.ReadFile(filepath.Join(c.source, m.Name, list))
	if err != nil {
		return "", fmt.Errorf("read the pins of %s: %w", m.Name, err)
	}
	goSum, err := os.ReadFile(filepath.Join(c.source, m.Name, sums))
	if err != nil {
		return "", fmt.Errorf("read the sums of %s: %w", m.Name, err)
	}
	parts := [][]byte{goMod, goSum}
	own, err := filepath.Glob(filepath.Join(c.source, m.Name, "*.go"))
	if err != nil {
		return "", fmt.Errorf("look for sources of %s: %w", m.Name, err)
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
		fmt.Fprintf(h, "%d\n%s", len(part), part) // the length keeps neighbours apart
	}
	return fmt.Sprintf("%x", h.Sum(nil))[:12]
}

// arguments are those of the go command, without the output directory.
func arguments(m Module) []string {
	args := []string{"-trimpath", "-ldflags", strings.TrimSpace("-s -w " + m.LDFlags)}
	for _, p := range m.Programs {
		args = append(args, p.Package)
	}
	return args
}

// Built says whether the module's programs are in the cache.
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
		return false, fmt.Errorf("look for built %s: %w", m.Name, err)
	}
	return true, nil
}

// Bin returns a directory with a symlink for each program that is built. It is
// named by all the pins, so that two clones with different pins have two.
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

// link makes name a symlink to target, whole at every moment.
func link(name, target string) error {
	if old, err := os.Readlink(name); err == nil && old == target {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("make the bin directory: %w", err)
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
