package snapshot_test

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

// Every reader and writer of snapshots reserves its bytes. A caller that compiles without a reservation was how one namespace
// filled the disk of all others. One without a namespace has no turn of its own at the check of its database.
func TestEveryCallerReservesWhatItWrites(t *testing.T) {
	required := map[string][]string{
		"save.Request":             {"Spool", "Namespace"},
		"proof.RestoreTestRequest": {"Spool", "Try", "Signers", "Namespace"},
		"copier.Request":           {"Signers"},
		"source.By":                {"Signers"},
		"proof.Place":              {"Dir", "Room", "Namespace"},
	}
	// The seed writes to the volume of its own member, and kubectl etcd to the disk of its user. No other namespace uses these.
	alone := map[string]int{"internal/source/source.go": 1, "internal/source/signed.go": 1, "internal/plugin/cli/snapshots/download.go": 1}
	seen := map[string]int{}
	for path, file := range programFiles(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				name := nameOf(n.Type)
				if strings.HasPrefix(path, "internal/snapshot/") {
					return true // what they call of each other gets the reservation of the caller
				}
				for _, field := range required[name] {
					if !slices.ContainsFunc(n.Elts, func(e ast.Expr) bool { return sets(e, field) }) {
						t.Errorf("%s: %s without %s", path, name, field)
					}
				}
				if required[name] != nil {
					seen[name]++
				}
			case *ast.CallExpr:
				if nameOf(n.Fun) == "proof.Alone" {
					alone[path]--
				}
			}
			return true
		})
	}
	for path, left := range alone {
		if left != 0 {
			t.Errorf("%s calls proof.Alone: give its reader a reservation", path)
		}
	}
	if seen["save.Request"] < 3 || seen["proof.Place"] < 2 || seen["proof.RestoreTestRequest"] < 1 {
		t.Errorf("the callers are not found any more: %v", seen)
	}
}

// Each reader of a manifest says who must have signed it. These do not decide what is restored, or compare the object in another way. A reader that
// is not listed must get the signers of the spec.
var anyone = map[string]string{
	"internal/plugin/cli/snapshots/signing.go":     "the user names no public key",
	"internal/snapshot/retention/decide.go":        "retention deletes snapshots with and without a signature; Policy.Signers says which ones take the place of others",
	"internal/snapshot/catalog/list.go":            "a list is shown, and a restore reads the manifest again",
	"internal/snapshot/catalog/leftovers.go":       "the draft of a leftover, which is deleted",
	"internal/snapshot/save/draft.go":              "the draft of a complete snapshot, which is deleted",
	"internal/snapshot/catalog/unfinished.go":      "what an object without a manifest shows; nothing is restored from it",
	"internal/snapshot/copier/copy.go":             "a verdict is copied only to the same SHA-256, and the verdict itself has no signature",
	"internal/snapshot/save/save.go":               "the signer alone, without earlier keys",
	"internal/snapshot/snapshottest/snapshots.go":  "tests read manifests of their own",
	"internal/source/choose.go":                    "manifests of snapshots with free names; the chosen one is read again with the signers",
	"internal/source/point.go":                     "a point is refused if signatures are required, because the continuous archive has none",
	"internal/source/point_owner.go":               "the same",
	"internal/source/source.go":                    "the size that the spool needs",
	"internal/seeder/follow.go":                    "the continuous archive is not signed, and a restore with signers refuses spec.follow",
	"internal/seeder/seed.go":                      "the seed compares the SHA-256 that restore-operator has verified",
	"internal/restore/key_writer.go":               "the snapshot that was verified with the signers before: its SHA-256 is compared",
	"internal/restore/signed_url.go":               "a URL of the verified object, whose SHA-256 the seed compares",
	"internal/restore/access.go":                   "what the namespace may use is asked, and nothing is read",
	"internal/restore/safety.go":                   "a safety snapshot is written",
	"internal/backup/attempt/stored.go":            "all snapshots of the EtcdBackup are listed; satisfied checks the signature of the one that it takes",
	"internal/backup/clients/signing.go":           "no signatures are asked for, or the status has recorded that there is none",
	"internal/backup/verify/snapshot.go":           "the recovery before the snapshot; the restore test itself has the signers",
	"internal/backup/archiving/inventory/bases.go": "the continuous archive is not signed, and a restore with signers refuses it",
	"internal/backup/verify/roll.go":               "the continuous archive is not signed, and a restore with signers refuses it",
	"internal/backup/verify/provable.go":           "the continuous archive is not signed, and a restore with signers refuses it",
}

func TestEachReaderOfAManifestSaysWhoMustHaveSignedIt(t *testing.T) {
	seen := map[string]bool{}
	for path, file := range programFiles(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			name := nameOf(e)
			ident, own := e.(*ast.Ident)
			if own && filepath.ToSlash(filepath.Dir(path)) == "internal/snapshot" && ident.Name == "Anyone" {
				name = "snapshot.Anyone"
			}
			if literal, ok := e.(*ast.CompositeLit); ok && nameOf(literal.Type) == "snapshot.Signers" {
				t.Errorf("%s: write snapshot.Anyone, which this test finds", path)
			}
			if name == "snapshot.Anyone" && path != "internal/snapshot/sign.go" {
				seen[path] = true
				if anyone[path] == "" {
					t.Errorf("%s requires no signature: give the reader the signers of the spec, or add the reason here", path)
				}
			}
			return true
		})
	}
	for path := range anyone {
		if !seen[path] {
			t.Errorf("%s does not use snapshot.Anyone any more: remove it from the list", path)
		}
	}
}

// programFiles returns the parsed files of all programs.
func programFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	for _, top := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join("..", "..", top), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			name, _ := filepath.Rel(filepath.Join("..", ".."), path)
			files[filepath.ToSlash(name)] = parsed
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func nameOf(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok {
			return x.Name + "." + s.Sel.Name
		}
	}
	return ""
}

// sets reports whether an element of a literal sets a field to something else than nil.
func sets(e ast.Expr, field string) bool {
	pair, ok := e.(*ast.KeyValueExpr)
	if !ok {
		return false
	}
	key, ok := pair.Key.(*ast.Ident)
	value, isName := pair.Value.(*ast.Ident)
	return ok && key.Name == field && (!isName || value.Name != "nil")
}
