package upgrade

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tried maps each step of a status to the state of this test that has it, or says after "ends:" why no object stays in that step.
var tried = map[string]string{
	"RestoreSeeding":           "restoring-before-switch",
	"RestoreSwitching":         "ends: the old members stop within seconds, or the restore returns to Seeding",
	"RestoreGrowing":           "restoring-after-switch",
	"RestoreComplete":          "restored",
	"RestoreFailed":            "ends: the seed is removed, and the members were never changed",
	"RecoveryForcing":          "ends: the survivor restarts within seconds",
	"RecoveryGrowing":          "recovering",
	"RecoveryComplete":         "ends: nothing is left to do",
	"VersionChangePreparing":   "ends: etcd converts its data within seconds while all members serve",
	"VersionChangeSnapshotted": "ends: etcd returns to its version within seconds while all members serve",
	"VersionChangeReady":       "upgrading",
}

// If a new step is missing here, an upgrade in the middle of it is tried by no test.
func TestEachStepOfAStatusIsTriedOrEndsByItself(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "api", "v1beta2", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found no files of the API: %v", err)
	}
	var steps []string
	for _, file := range files {
		steps = append(steps, stepsIn(t, file)...)
	}
	if len(steps) < 3 {
		t.Fatalf("found only the steps %v", steps)
	}
	for _, step := range steps {
		name, known := tried[step]
		has := slices.ContainsFunc(states, func(s state) bool { return s.name == name })
		if !known || !has && !strings.HasPrefix(name, "ends: ") {
			t.Errorf("step %s has no state in this test: add one to states, or write why no object stays in the step", step)
		}
	}
}

// stepsIn returns the constants in a file whose type is the step of something.
func stepsIn(t *testing.T, file string) (names []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, declaration := range parsed.Decls {
		group, is := declaration.(*ast.GenDecl)
		if !is || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			kind, typed := value.Type.(*ast.Ident)
			if typed && strings.HasSuffix(kind.Name, "Step") {
				for _, name := range value.Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}
