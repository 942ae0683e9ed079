package objstore

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// loopsThatEnd are the functions that may end a loop at the error of one object, and why.
var loopsThatEnd = map[string]string{
	"verify.standing":        "a record that cannot be read holds all deletions, and only the end of the bucket or of the context ends it",
	"archive.EndOf":          "the key of each segment follows from the one before it",
	"archive.Find":           "a timeline whose start cannot be read may be the one that is asked for",
	"archive.older":          "a start that cannot be read may be of a later cluster, and a passing error is tried again",
	"archive.readStarts":     "it records what the store does not return; a damaged start ends it, and so does a store that returns nothing",
	"archive.Read":           "only tests read a whole archive",
	"archive.reach":          "a range ends at a link whose header must be read",
	"archive.returnsAnother": "it asks until the store returns one link",
	"follower.proof":         "both snapshots of a proof must be there",
	"proofs.StillUnread":     "it looks for the objects with errors",
	"archive.readAll":        "each link of a chain is needed, and the first error names the point up to which it is whole",
	"copier.SameStore":       "it looks for one object after the other, until one tells whether two stores are one",
	"catalog.Ask":            "only the end of the context ends it",
	"catalog.ReadDrafts":     "only the end of the context ends it, and the last error is returned",
	"copier.dropDrafts":      "all errors are ignored: a draft does no harm",
	"catalog.deleteWithout":  "each of the objects must be missing, and all of them belong to one snapshot",
	"catalog.judgeObject":    "the drafts are those of one object",
	"snapshot.writeVerdict":  "the objects are the results of one snapshot",
	"source.readAll":         "it reads all manifests, and repeats those with errors of the store",
}

// accesses are the functions that read, write or delete one object.
var accesses = []string{"Delete", "Abort", "ReadStart", "ReadHeader", "ReadManifest", "ReadManifestAt", "ReadVerdict", "WriteVerdict", "Gone", "copyOne", "copyVerdict"}

// The next loop over objects must not end at the error of one of them, either.
func TestEachLoopOverObjectsCollectsTheirErrors(t *testing.T) {
	for _, dir := range []string{"../snapshot", "../snapshot/catalog", "../snapshot/proof", "../snapshot/save", "../snapshot/retention", "../snapshot/copier", "../source", "../backup/archiving", "../backup/archiving/inventory", "../backup/archiving/copying", "../backup/attempt", "../backup/clients", "../backup/verify", "../archive", "../archive/archiver", "../archive/follower", "../archive/proofs", "../restore"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err, fs.ErrNotExist)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range file.Decls {
				f, ok := decl.(*ast.FuncDecl)
				if !ok || f.Body == nil || !accessesInLoop(f.Body) || collects(f.Body) || loopsThatEnd[file.Name.Name+"."+f.Name.Name] != "" {
					continue
				}
				t.Errorf("%s.%s (%s) has a loop over objects: use objstore.Each or objstore.Errors, or say in loopsThatEnd why it may end", file.Name.Name, f.Name.Name, name)
			}
		}
	}
}

// accessesInLoop reports whether a loop in a body calls one of accesses with a context.
func accessesInLoop(body ast.Node) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			ast.Inspect(n, func(inner ast.Node) bool {
				if call, ok := inner.(*ast.CallExpr); ok && len(call.Args) > 1 && nameOf(call.Args[0]) == "ctx" && slices.Contains(accesses, nameOf(call.Fun)) {
					found = true
				}
				return true
			})
		}
		return true
	})
	return found
}

// collects reports whether a body uses Each, EachOf or Errors.Add.
func collects(body ast.Node) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			name := nameOf(call.Fun)
			found = found || name == "Each" || name == "EachOf" || name == "Add" && len(call.Args) == 2
		}
		return true
	})
	return found
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
