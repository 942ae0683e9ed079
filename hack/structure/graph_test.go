package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func uses(pairs ...string) graph {
	g := graph{}
	for _, pair := range pairs {
		from, to, _ := strings.Cut(pair, ">")
		for _, file := range []string{from, to} {
			if g[file] == nil {
				g[file] = map[string]bool{}
			}
		}
		g[from][to] = true
	}
	return g
}

// A wrong figure would send somebody to a package that has no circle, or hide one that has.
func TestFiguresOfAGraph(t *testing.T) {
	for name, test := range map[string]struct {
		graph              graph
		arrows, up, circle int
	}{
		"a chain":                   {uses("a>b", "b>c", "a>c"), 3, 0, 1},
		"two files use each other":  {uses("a>b", "b>a", "b>c"), 3, 1, 2},
		"one arrow closes a circle": {uses("a>b", "b>c", "c>d", "a>c", "b>d", "d>a"), 6, 1, 4},
		"two circles":               {uses("a>b", "b>a", "c>d", "d>c", "b>c"), 5, 2, 2},
		"all files use each other":  {uses("a>b", "b>a", "a>c", "c>a", "b>c", "c>b"), 6, 3, 3},
		"a file at the wrong place": {uses("z>a", "z>b", "z>c", "a>b", "b>c", "c>z"), 6, 1, 4},
		"the arrows of two circles": {uses("a>b", "b>c", "c>a", "c>d", "d>b"), 5, 1, 4},
	} {
		if a, u, c := test.graph.arrows(), test.graph.up(), test.graph.largestCircle(); a != test.arrows || u != test.up || c != test.circle {
			t.Errorf("%s: %d arrows, %d up, circle of %d; want %d, %d, %d", name, a, u, c, test.arrows, test.up, test.circle)
		}
	}
}

func TestMeasureAPackage(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":         "module example.com/house\n\ngo 1.26.0\n",
		"room/a.go":      "package room\n\ntype A struct{ b B }\n\nfunc (a A) Name() string { return a.b.name() }\n",
		"room/b.go":      "package room\n\ntype B struct{}\n\nfunc (b *B) name() string { return top }\n\nfunc (b *B) other() {}\n",
		"room/c.go":      "package room\n\nconst top = \"top\"\n\nvar _ = A{}\n",
		"room/a_test.go": "package room\n\nvar _ = B{}\n",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tables, err := measure(folder, "./...")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := write(&out, tables); err != nil {
		t.Fatal(err)
	}
	if want := []string{"room", "3", "17", "3", "1", "33", "%", "3", "B:", "2"}; !strings.HasSuffix(strings.Join(strings.Fields(out.String()), " "), strings.Join(want, " ")) {
		t.Errorf("the table is\n%s\nand should end with %v", out.String(), want)
	}
}
