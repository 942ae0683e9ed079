package programs

import (
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestModules(t *testing.T) {
	for _, m := range Modules() {
		if m.NPM {
			continue
		}
		t.Run(m.Name+" builds exactly the tools of its go.mod", func(t *testing.T) {
			content, err := os.ReadFile(filepath.Join(m.Name, "go.mod"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range m.Programs {
				got = append(got, p.Package)
			}
			sort.Strings(got)
			if diff := cmp.Diff(tools(string(content)), got); diff != "" {
				t.Errorf("the tools of go.mod (-) and the table in module.go (+) differ:\n%s", diff)
			}
		})
	}
	t.Run("pins every npm package by its checksum and names no registry", func(t *testing.T) {
		content, err := os.ReadFile("azurite/package-lock.json")
		if err != nil {
			t.Fatal(err)
		}
		lock := string(content)
		packages, sums := strings.Count(lock, "\n    \"node_modules/"), strings.Count(lock, "\n      \"integrity\": \"sha512-")
		if packages == 0 || packages != sums || strings.Contains(lock, `"resolved"`) {
			t.Errorf("%d packages, %d checksums; npm install --package-lock-only --omit-lockfile-registry-resolved writes the file", packages, sums)
		}
	})
	t.Run("sets the version of Kubernetes that go.mod requires", func(t *testing.T) {
		content, err := os.ReadFile("kubernetes/go.mod")
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`(?m)k8s\.io/kubernetes (v\S+)`).FindStringSubmatch(string(content))
		if found == nil || found[1] != kubernetesVersion {
			t.Fatalf("go.mod requires %q, but module.go sets %q", found, kubernetesVersion)
		}
		minor := "gitMinor=" + strings.Split(kubernetesVersion, ".")[1] + " "
		if !strings.Contains(kubernetesLDFlags, minor) {
			t.Errorf("the flags %q do not contain %q", kubernetesLDFlags, minor)
		}
	})
	t.Run("gives each program its own name in the bin directory", func(t *testing.T) {
		owner := map[string]string{}
		for _, m := range Modules() {
			for name := range m.Links() {
				if other, taken := owner[name]; taken {
					t.Errorf("%s and %s both have a program %s", m.Name, other, name)
				}
				owner[name] = m.Name
			}
		}
	})
}

// tools reads the tool directives of a go.mod.
func tools(goMod string) []string {
	var found []string
	inside := false
	for line := range strings.Lines(goMod) {
		line = strings.TrimSpace(line)
		switch {
		case line == "tool (":
			inside = true
		case line == ")":
			inside = false
		case inside:
			found = append(found, line)
		case strings.HasPrefix(line, "tool "):
			found = append(found, strings.TrimPrefix(line, "tool "))
		}
	}
	sort.Strings(found)
	return found
}

func TestSelect(t *testing.T) {
	cases := map[string]struct {
		names, want []string
	}{
		"selects what the local Kubernetes needs if no module is named": {nil, []string{"kubernetes", "containerd", "coredns", "directories", "etcd-3.6", "cni"}},
		"selects the named modules in the order of the table":           {[]string{"etcd-3.5", "helm"}, []string{"helm", "etcd-3.5"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			modules, err := Select(c.names...)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range modules {
				got = append(got, m.Name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("selects every module if all is named", func(t *testing.T) {
		modules, err := Select("all")
		if err != nil || len(modules) != len(Modules()) {
			t.Errorf("got %d of %d modules, error %v", len(modules), len(Modules()), err)
		}
	})
	t.Run("refuses an unknown name and lists the valid ones", func(t *testing.T) {
		_, err := Select("helm", "heml")
		if err == nil || !strings.Contains(err.Error(), "heml") || !strings.Contains(err.Error(), "versitygw") {
			t.Errorf("got %v", err)
		}
	})
}

func TestKey(t *testing.T) {
	base := Module{Name: "m", Programs: []Program{{"p", "p"}}}
	flags := base
	flags.LDFlags = "-X a=b"
	keys := map[string]string{
		"nothing":      key(base, "go1", []byte("mod"), []byte("sum")),
		"go version":   key(base, "go2", []byte("mod"), []byte("sum")),
		"go.mod":       key(base, "go1", []byte("mod2"), []byte("sum")),
		"go.sum":       key(base, "go1", []byte("mod"), []byte("sum2")),
		"flags":        key(flags, "go1", []byte("mod"), []byte("sum")),
		"the boundary": key(base, "go1", []byte("mods"), []byte("um")),
	}
	seen := map[string]string{}
	for what, k := range keys {
		if other, taken := seen[k]; taken {
			t.Errorf("a change of %s and a change of %s have the same key %s", what, other, k)
		}
		seen[k] = what
	}
}

func TestOutputName(t *testing.T) {
	for pkg, want := range map[string]string{
		"go.etcd.io/etcd/server/v3":           "server",
		"k8s.io/kubernetes/cmd/kubelet":       "kubelet",
		"github.com/versity/versitygw":        "versitygw",
		"example.com/containerd-shim-runc-v2": "containerd-shim-runc-v2",
	} {
		if got := outputName(pkg); got != want {
			t.Errorf("%s: got %s, want %s", pkg, got, want)
		}
	}
}

// A user who waits for the first build cannot tell whether it takes a minute or an hour.
func TestRemaining(t *testing.T) {
	for _, c := range []struct {
		name                               string
		done, spent, others, current, past time.Duration
		want                               string
	}{
		{"the known times, while nothing is built yet", 0, 0, 10 * time.Minute, 5 * time.Minute, time.Minute, "about 14 minutes left"},
		{"twice the known times on a machine that was twice as slow", 5 * time.Minute, 10 * time.Minute, 10 * time.Minute, 2 * time.Minute, time.Minute, "about 23 minutes left"},
		{"the others only, once a module takes longer than known", 0, 0, 3 * time.Minute, time.Minute, time.Hour, "about 3 minutes left"},
		{"the end is near", 0, 0, 0, time.Minute, 50 * time.Second, "less than a minute left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := remaining(c.done, c.spent, c.others, c.current, c.past); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestProgress(t *testing.T) {
	p := &progress{module: Module{Name: "m", Programs: make([]Program, 2)}, begin: time.Now(), estimate: &estimate{begin: time.Now()}}
	for _, line := range []string{"a/b", "c", "# a/b", "x.go:1: undefined: y"} {
		p.note(line)
	}
	t.Run("counts packages and tells how long is left", func(t *testing.T) {
		if line := p.line(); !strings.HasSuffix(line, ", 2 packages compiled; less than a minute left") {
			t.Error(line)
		}
	})
	t.Run("keeps the compiler's messages for the error", func(t *testing.T) {
		if diff := cmp.Diff([]string{"# a/b", "x.go:1: undefined: y"}, p.other); diff != "" {
			t.Error(diff)
		}
	})
}
