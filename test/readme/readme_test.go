package readme

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pages are the files whose commands are run, with the blocks in the order of the run.
var pages = map[string][]string{
	// hack/release runs release, chart, helm, manifests, plugin and examples.
	"../../README.md":                      {"release", "install", "store", "choose", "use"},
	"../../charts/etcd-operator/README.md": {"chart", "manifests"},
	"../../docs/install.md":                {"helm", "manifests", "plugin", "examples", "upgrade", "rollback", "uninstall"},

	"../../docs/disaster-recovery.md": {
		"look", "member", "node", "quorum", "all-members", "cluster", "namespace", "region",
		"wrong-data", "operator", "another-kubernetes",
	},

	"../../docs/tutorial-first-cluster.md": {"create", "write", "lose", "scale", "remove"},
	"../../docs/tutorial-tls.md":           {"create", "secrets", "connect", "refused", "status", "remove"},
	"../../docs/tutorial-minio.md":         {"prepare", "backup", "restore", "remove"},
	"../../docs/tutorial-point-in-time.md": {"prepare", "archive", "mistake", "wait", "try", "restore", "remove"},
	"../../docs/tutorial-second-region.md": {"prepare", "copy", "lose", "restore", "remove"},
	"../../docs/migrating.md":              nil,
	"../../docs/production.md":             nil,
	"../../docs/backup.md":                 nil,
	"../../docs/restore.md":                nil,
	"../../docs/signatures.md":             nil,
	"../../docs/stores.md":                 nil,
}

func TestEveryBlockOfCommandsIsRunOrSaysWhyNot(t *testing.T) {
	for file, names := range pages {
		blocks, err := Blocks(file)
		if err != nil {
			t.Error(err)
			continue
		}
		var run []string
		for _, b := range blocks {
			if b.Name != "" {
				run = append(run, b.Name)
			}
		}
		if diff := cmp.Diff(names, run); diff != "" {
			t.Errorf("%s: blocks that the test runs (-want +got):\n%s", file, diff)
		}
	}
}

func TestEveryRuleReplacesACommand(t *testing.T) {
	used := map[string]bool{}
	for file := range pages {
		blocks, err := Blocks(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			if b.Name == "" {
				continue
			}
			for _, line := range b.Lines {
				replaced, applied := Replace(line)
				for _, rule := range applied {
					used[rule.Command] = true
				}
				if strings.Contains(replaced, "kind ") {
					t.Errorf("%s: no rule replaces kind in %q", file, line)
				}
			}
		}
	}
	for _, rule := range Rules {
		if !used[rule.Command] {
			t.Errorf("no command contains %q: remove its rule", rule.Command)
		}
	}
}

func TestCommandsAreReadFromIndentedAndFencedBlocks(t *testing.T) {
	text := strings.Join([]string{
		"Text.", "", "<!-- test: a -->", "", "    one", "", "    two # comment", "", "Text.", "",
		"```yaml", "    kind: Value", "```", "", "<!-- no test: it is slow -->", "", "```sh", "three", "  four", "```", "",
	}, "\n")
	got, err := parse(text)
	want := []Block{{Name: "a", Lines: []string{"one", "two # comment"}}, {Why: "it is slow", Lines: []string{"three", "  four"}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("blocks (-want +got):\n%s\nerror %v", diff, err)
	}
	for _, bare := range []string{"Text.\n\n    one\n", "```sh\none\n```\n", "<!-- test: a -->\n\nText.\n\n    one\n"} {
		if got, err := parse(bare); err == nil {
			t.Errorf("%q has commands without a comment and gives %+v", bare, got)
		}
	}
}
