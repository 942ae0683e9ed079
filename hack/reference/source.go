package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/etcd-suite/etcd-operator/docs"
)

// conditionRows are the constants Condition... of the API, with their comments.
func conditionRows(root string) ([][]string, error) {
	rows, err := constants(root, "Condition", code)
	return append([][]string{{"condition", "meaning"}}, rows...), err
}

// reasonRows are the constants Reason... of the API. Each has a heading in a page of reasons; a test of the API compares.
func reasonRows(root string) ([][]string, error) {
	rows, err := constants(root, "Reason", func(reason string) string {
		return "[" + reason + "](" + docs.ReasonPage(reason) + ")"
	})
	return append([][]string{{"reason", "meaning"}}, rows...), err
}

// constants returns the values of the constants with a prefix, and what their comments say they mean.
func constants(root, prefix string, show func(string) string) ([][]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "api/v1beta2/conditions.go"), nil, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("parse the conditions: %w", err)
	}
	var rows [][]string
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		value, _ := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		comment := strings.Join(strings.Fields(spec.Doc.Text()), " ")
		meaning, found := strings.CutPrefix(comment, spec.Names[0].Name+" ")
		if !found {
			err = fmt.Errorf("the comment of %s must begin with its name", spec.Names[0].Name)
		}
		rows = append(rows, []string{show(value), sentence(meaning)})
		return true
	})
	return rows, err
}

// sentence makes a sentence of a comment without its subject, such as "means that a member is down." or "(EtcdBackup) means that ...".
func sentence(meaning string) string {
	about := ""
	if kinds, rest, found := strings.Cut(meaning, ") "); found && strings.HasPrefix(kinds, "(") {
		about, meaning = kinds[1:]+": ", rest
	}
	meaning = strings.TrimPrefix(meaning, "means that ")
	first, _, _ := strings.Cut(meaning, " ")
	if about == "" && !isName(first) {
		return strings.ToUpper(meaning[:1]) + meaning[1:]
	}
	return about + meaning
}

// isName returns whether a word keeps its lower case at the start of a sentence: a field of a spec, or the name of a program.
func isName(word string) bool {
	return word == "etcd" || strings.ContainsAny(strings.TrimSuffix(word, "."), ".-")
}

// announcers are the functions whose second argument is the reason of an event.
var announcers = []string{"announced", "warned", "Announced", "Warned", "NewEvent"}

// events returns the reasons of events that the plans publish and that are not reasons of conditions.
func events(root string) ([]string, error) {
	var found []string
	for _, folder := range []string{"internal/cluster/plan", "internal/cluster/plan/*", "internal/backup/plan", "internal/backup/status", "internal/restore/plan", "internal/restore/state", "internal/restore/steps", "internal/restore/status"} {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", folder, err)
		}
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return nil, fmt.Errorf("parse %s: %w", path, err)
			}
			if !strings.HasSuffix(path, "_test.go") {
				found = append(found, eventsOf(file)...)
			}
		}
	}
	conditions, err := constants(root, "Reason", func(reason string) string { return reason })
	slices.Sort(found)
	return slices.DeleteFunc(slices.Compact(found), func(event string) bool {
		return slices.ContainsFunc(conditions, func(row []string) bool { return row[0] == event })
	}), err
}

var upperCamelCase = regexp.MustCompile(`^[A-Z][A-Za-z]+$`)

func eventsOf(file *ast.File) []string {
	var found []string
	add := func(e ast.Expr) {
		if literal, ok := e.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil {
				found = append(found, text)
			}
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.CallExpr:
			called := node.Fun
			if of, ok := called.(*ast.SelectorExpr); ok {
				called = of.Sel
			}
			if name, ok := called.(*ast.Ident); ok && slices.Contains(announcers, name.Name) && len(node.Args) > 1 {
				add(node.Args[1])
			}
		case *ast.KeyValueExpr:
			if key, ok := node.Key.(*ast.Ident); ok && key.Name == "Reason" {
				add(node.Value)
			}
		case *ast.AssignStmt: // reason, event := ...
			for i, left := range node.Lhs {
				name, ok := left.(*ast.Ident)
				if ok && (name.Name == "reason" || name.Name == "event") && len(node.Lhs) == len(node.Rhs) {
					add(node.Rhs[i])
				}
			}
		}
		return true
	})
	return slices.DeleteFunc(found, func(reason string) bool { return !upperCamelCase.MatchString(reason) })
}

func code(text string) string { return "`" + text + "`" }

// shown escapes names such as <key>, which Markdown would take for HTML and omit. Code between backquotes has none to escape.
func shown(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.ReplaceAll(parts[i], "<", `\<`)
	}
	return strings.Join(parts, "`")
}
