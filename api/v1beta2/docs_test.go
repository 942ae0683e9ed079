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

// runbooks are the pages that explain the reasons, and entryPage lists all of them.
var runbooks = []string{"reasons-cluster.md", "reasons-backup-restore.md"}

const entryPage = "operations.md"

func TestTheRunbookExplainsEveryReason(t *testing.T) {
	reasons, pages := reasons(t), pages(t)
	var headings []string
	for _, page := range pages {
		headings = append(headings, page.reason)
	}
	slices.Sort(reasons)
	slices.Sort(headings)
	if diff := cmp.Diff(reasons, headings); diff != "" {
		t.Errorf("reasons (-of conditions.go +of the pages of reasons):\n%s", diff)
	}
}

// The plugin and bookmarks of an administrator lead to the reason at the entry page, and an administrator searches that page for the name.
func TestTheEntryPageListsEveryReasonAndLeadsToItsPage(t *testing.T) {
	entry := read(t, "../../docs/"+entryPage)
	for _, page := range pages(t) {
		anchor := strings.ToLower(page.reason)
		if want := `<a id="` + anchor + `"></a>[` + page.reason + "](" + page.file + "#" + anchor + ")"; !strings.Contains(entry, want) {
			t.Errorf("docs/%s does not have %s", entryPage, want)
		}
	}
	if listed := strings.Count(entry, `<a id="`); listed != len(pages(t)) {
		t.Errorf("docs/%s lists %d reasons, and there are %d", entryPage, listed, len(pages(t)))
	}
}

func TestEachReasonHasMeaningImpactCheckAndFix(t *testing.T) {
	label := regexp.MustCompile(`(?m)^\*\*(\w+)\.\*\* \S`)
	for _, page := range pages(t) {
		var parts []string
		for _, match := range label.FindAllStringSubmatch(page.text, -1) {
			parts = append(parts, match[1])
		}
		if diff := cmp.Diff([]string{"Meaning", "Impact", "Check", "Fix"}, parts); diff != "" {
			t.Errorf("paragraphs of %s in docs/%s (-want +got):\n%s", page.reason, page.file, diff)
		}
	}
}

// page of a runbook explains one reason.
type page struct{ file, reason, text string }

// pages are the parts of the runbooks under a heading of one word: those of several words are not about one reason.
func pages(t *testing.T) []page {
	t.Helper()
	var found []page
	for _, file := range runbooks {
		found = append(found, pagesOf(file, read(t, "../../docs/"+file))...)
	}
	return found
}

func pagesOf(file, text string) []page {
	headings := regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatchIndex(text, -1)
	var found []page
	for i, h := range headings {
		heading, end := text[h[2]:h[3]], len(text)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		if i > 0 && !strings.Contains(heading, " ") {
			found = append(found, page{file, heading, text[h[1]:end]})
		}
	}
	return found
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

// sections of docs/api.md, each with a heading for each field of a type. make generate writes that page.
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

func TestReferenceHasAHeadingForEveryField(t *testing.T) {
	headings := headings(t, "../../docs/api.md")
	for section, kind := range sections {
		t.Run(section, func(t *testing.T) {
			prefix := strings.ReplaceAll(section, " ", ".") + "."
			var got []string
			for _, heading := range headings {
				if path, ok := strings.CutPrefix(heading, prefix); ok {
					got = append(got, path)
				}
			}
			want := fields(kind, "")
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("fields (-of the type +of docs/api.md):\n%s", diff)
			}
		})
	}
}

// An anchor has no dots and brackets, and two headings with one anchor would get numbers that change with the order.
func TestEveryFieldOfTheReferenceHasAnAnchorOfItsOwn(t *testing.T) {
	seen := map[string]string{}
	for _, heading := range headings(t, "../../docs/api.md") {
		anchor := strings.ToLower(strings.NewReplacer(".", "", "[]", "").Replace(heading))
		if earlier, ok := seen[anchor]; ok {
			t.Errorf("%s and %s have the anchor %s", earlier, heading, anchor)
		}
		seen[anchor] = heading
	}
}

// headings returns the paths of all fields that have a heading.
func headings(t *testing.T, path string) []string {
	t.Helper()
	var found []string
	for line := range strings.Lines(read(t, path)) {
		if heading, ok := strings.CutPrefix(line, "#### `"); ok {
			heading, _, _ = strings.Cut(heading, "`")
			found = append(found, heading)
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
