package programs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newCache returns an empty cache for the real modules.
func newCache(t *testing.T) *Cache {
	t.Helper()
	return &Cache{source: ".", root: t.TempDir(), goVersion: "go1.0 linux/amd64"}
}

// fakeBuild writes a file for each program of the module, as a build would.
func fakeBuild(t *testing.T, c *Cache, m Module) {
	t.Helper()
	dir, err := c.Dir(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Programs {
		if err := os.WriteFile(filepath.Join(dir, p.File), []byte(m.Name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBin(t *testing.T) {
	c := newCache(t)
	modules, err := Select("etcd-3.6", "etcd-3.5")
	if err != nil {
		t.Fatal(err)
	}
	fakeBuild(t, c, modules[0])
	fakeBuild(t, c, modules[1])
	bin, err := c.Bin()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"etcd": "etcd-3.6", "etcd-3.6": "etcd-3.6", "etcd-3.5": "etcd-3.5", "etcdutl-3.5": "etcd-3.5"} {
		t.Run(name+" is the program of "+want, func(t *testing.T) {
			got, err := os.ReadFile(filepath.Join(bin, name))
			if err != nil || string(got) != want {
				t.Errorf("got %q, error %v", got, err)
			}
		})
	}
	t.Run("has no link to a program that is not built", func(t *testing.T) {
		if _, err := os.Lstat(filepath.Join(bin, "helm")); !os.IsNotExist(err) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("is the same directory after another module is built", func(t *testing.T) {
		helm, _ := Select("helm")
		fakeBuild(t, c, helm[0])
		again, err := c.Bin()
		if err != nil || again != bin {
			t.Fatalf("got %s, want %s, error %v", again, bin, err)
		}
		if _, err := os.Stat(filepath.Join(bin, "helm")); err != nil {
			t.Error(err)
		}
	})
}

func TestBuild(t *testing.T) {
	t.Run("prints nothing if everything is built", func(t *testing.T) {
		c := newCache(t)
		modules, _ := Select("helm")
		fakeBuild(t, c, modules[0])
		var output strings.Builder
		if err := c.Build(context.Background(), &output, modules); err != nil || output.String() != "" {
			t.Errorf("output %q, error %v", output.String(), err)
		}
	})
	t.Run("returns the compiler's errors and removes its files if a build fails", func(t *testing.T) {
		c := newCache(t)
		c.source = t.TempDir()
		m := Module{Name: "broken", Programs: []Program{{"example.com/broken", "broken"}}}
		for name, content := range map[string]string{"go.mod": "module example.com/broken\n\ngo 1.26.0\n", "go.sum": "", "main.go": "package main\n\nfunc main() { undefinedName() }\n"} {
			path := filepath.Join(c.source, m.Name, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var output strings.Builder
		err := c.Build(context.Background(), &output, []Module{m})
		if err == nil || !strings.Contains(err.Error(), "undefined: undefinedName") {
			t.Errorf("got %v", err)
		}
		if built, err := c.Built(m); built || err != nil {
			t.Errorf("built %v, error %v", built, err)
		}
		if left, _ := filepath.Glob(filepath.Join(c.root, ".building-*")); len(left) > 0 {
			t.Errorf("the failed build left the directories %v", left)
		}
	})
}
