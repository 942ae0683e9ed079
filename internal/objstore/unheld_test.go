package objstore

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unheld are the functions that list without the limit of names, and how each of them bounds its memory.
var unheld = map[string]string{
	"archive.list":         "it counts with Held, and in a Holding",
	"archive.Newest":       "it holds one name",
	"follower.continues":   "it holds one name",
	"follower.Compare":     "it holds as many names as the caller asks for, which has counted them",
	"archiver.returnsNew":  "it deletes while it lists",
	"switchover.named":     "it holds the IDs of the switchovers of one archive, and limits them",
	"switchover.Purge":     "it deletes while it lists",
	"catalog.AbortUploads": "it deletes while it lists",
	"save.DropDrafts":      "it deletes while it lists",
	"catalog.Scan":         "it counts with HeldIn what is not of an archive",
	"catalog.ScanNewest":   "it counts with HeldIn, and holds the newest ones",
}

// All other listings have the limit, because each store of package connect is Bounded.
func TestEachListingWithoutTheLimitBoundsItsMemory(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir("../..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || !strings.Contains(name, "internal/") && !strings.Contains(name, "cmd/") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && nameOf(call.Fun) == "Unheld" {
					seen[file.Name.Name+"."+f.Name.Name] = true
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range seen {
		if unheld[name] == "" {
			t.Errorf("%s lists without the limit of names: say in unheld how it bounds its memory", name)
		}
	}
	for name := range unheld {
		if !seen[name] {
			t.Errorf("%s does not list without the limit any more", name)
		}
	}
}

// numbers yields numbers without an end, and then an error.
func numbers(upTo int, yielded *int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for *yielded = range upTo {
			if !yield(*yielded, nil) {
				return
			}
		}
		yield(0, errors.New("the listing failed"))
	}
}

func TestEachListedWorksWhileItLists(t *testing.T) {
	const count = 10*batch + 5
	var errs Errors
	yielded, done, ahead := 0, 0, 0
	even := Matching(numbers(count, &yielded), func(n int) bool { return n%2 == 0 })
	err := EachListed(t.Context(), 1, even, &errs, func(n int) error {
		ahead = max(ahead, yielded-n)
		done++
		return nil
	})
	if err == nil || errs.Err() != nil || done != count/2+1 || ahead > 2*batch {
		t.Errorf("%d of %d names are done, and at most %d were listed before; errors %v, %v", done, count/2+1, ahead, err, errs.Err())
	}
}

func TestEachListedEndsWhenTheStoreHasFailed(t *testing.T) {
	var errs Errors
	yielded, done := 0, 0
	err := EachListed(t.Context(), 1, numbers(10*batch, &yielded), &errs, func(int) error {
		done++
		return fmt.Errorf("delete: %w", errors.New("500"))
	})
	if err != nil || errs.Ended() == nil || done != faults || yielded > batch {
		t.Errorf("%d of %d were tried; errors %v, %v", done, yielded, err, errs.Err())
	}
}

func TestABoundedStoreHasTheOptionalFunctionsOfTheStore(t *testing.T) {
	type both struct {
		slowly
		Unfinished
		Signer
	}
	for name, store := range map[string]Store{
		"none": slowly{},
		"uploads": struct {
			slowly
			Unfinished
		}{},
		"signs": struct {
			slowly
			Signer
		}{},
		"both": both{},
	} {
		b := Bounded(store, DefaultLimits)
		_, uploads := b.(Unfinished)
		_, signs := b.(Signer)
		if got, want := []bool{uploads, signs}, []bool{name == "uploads" || name == "both", name == "signs" || name == "both"}; !slices.Equal(got, want) {
			t.Errorf("%s: it has uploads and signs: %v", name, got)
		}
	}
}
