package v1beta2

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryReasonIsInTheRunbook(t *testing.T) {
	reasons, headings := reasons(t), headings(t, "../../docs/operations.md")
	for _, reason := range reasons {
		if !slices.Contains(headings, reason) {
			t.Errorf("docs/operations.md has no heading %q", "## "+reason)
		}
	}
	for i, heading := range headings {
		if !slices.Contains(reasons, heading) {
			t.Errorf("docs/operations.md has a heading %q, which is no reason in conditions.go", heading)
		}
		if slices.Contains(headings[:i], heading) {
			t.Errorf("docs/operations.md has the heading %q twice", heading)
		}
	}
}

// reasons are the values of all constants in conditions.go whose name begins with Reason.
func reasons(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "conditions.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatalf("%s: %v", spec.Names[0].Name, err)
		}
		values = append(values, value)
		return true
	})
	if len(values) == 0 {
		t.Fatal("conditions.go has no reasons")
	}
	return values
}

func headings(t *testing.T, path string) []string {
	t.Helper()
	var found []string
	for line := range strings.Lines(read(t, path)) {
		if heading, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok {
			found = append(found, heading)
		}
	}
	return found
}

func TestLinksInTheRunbookLead(t *testing.T) {
	headings := headings(t, "../../docs/operations.md")
	for _, link := range regexp.MustCompile(`\]\(#([^)]+)\)`).FindAllStringSubmatch(read(t, "../../docs/operations.md"), -1) {
		if !slices.ContainsFunc(headings, func(heading string) bool { return strings.ToLower(heading) == link[1] }) {
			t.Errorf("the link #%s leads nowhere", link[1])
		}
	}
}

// sections of docs/api.md, each with a table of the fields of a type. make generate writes that page.
var sections = map[string]reflect.Type{
	"EtcdCluster spec":   reflect.TypeFor[EtcdClusterSpec](),
	"EtcdCluster status": reflect.TypeFor[EtcdClusterStatus](),
	"EtcdBackup spec":    reflect.TypeFor[EtcdBackupSpec](),
	"EtcdBackup status":  reflect.TypeFor[EtcdBackupStatus](),
	"EtcdRestore spec":   reflect.TypeFor[EtcdRestoreSpec](),
	"EtcdRestore status": reflect.TypeFor[EtcdRestoreStatus](),
	"S3Source":           reflect.TypeFor[S3Source](),
	"GCSSource":          reflect.TypeFor[GCSSource](),
	"ABSSource":          reflect.TypeFor[ABSSource](),
	"OSSSource":          reflect.TypeFor[OSSSource](),
	"Snapshot":           reflect.TypeFor[Snapshot](),
}

func TestReferenceHasARowForEveryField(t *testing.T) {
	rows := rows(t, "../../docs/api.md")
	for section, kind := range sections {
		t.Run(section, func(t *testing.T) {
			want, got := fields(kind, ""), rows[section]
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("fields (-of the type +of docs/api.md):\n%s", diff)
			}
		})
	}
}

func TestTablesOfTheReferenceAreWhole(t *testing.T) {
	columns := 0
	for line := range strings.Lines(read(t, "../../docs/api.md")) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		n := strings.Count(line, "|") - strings.Count(line, `\|`)
		if columns == 0 {
			columns = n
		}
		if n != columns {
			t.Errorf("a row has %d cells, its header has %d: %s", n-1, columns-1, line)
		}
	}
}

// rows returns the first cells of the tables below each heading.
func rows(t *testing.T, path string) map[string][]string {
	t.Helper()
	found, section := map[string][]string{}, ""
	for line := range strings.Lines(read(t, path)) {
		if strings.HasPrefix(line, "##") {
			section = strings.TrimSpace(strings.TrimLeft(line, "#"))
		}
		if cell, ok := strings.CutPrefix(line, "| `"); ok {
			cell, _, _ = strings.Cut(cell, "`")
			found[section] = append(found[section], cell)
		}
	}
	return found
}

// fields returns the JSON paths of all fields below a struct. It does not descend into types of other packages, nor into
// those with a section of their own.
func fields(kind reflect.Type, prefix string) []string {
	var paths []string
	for i := range kind.NumField() {
		field := kind.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner, path := field.Type, prefix+name
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			if inner.Kind() == reflect.Slice {
				path += "[]"
			}
			inner = inner.Elem()
		}
		if name == "" { // an embedded struct, whose fields belong to this one
			paths = append(paths, fields(inner, prefix)...)
			continue
		}
		paths = append(paths, path)
		if inner.Kind() == reflect.Struct && inner.PkgPath() == kind.PkgPath() && sections[inner.Name()] == nil {
			paths = append(paths, fields(inner, path+".")...)
		}
	}
	return paths
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
