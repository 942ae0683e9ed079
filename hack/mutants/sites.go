package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// mutant is a piece of a file and what replaces it.
type mutant struct {
	start, end, line int // bytes of the file, and the line of the first
	old, new         string
}

func (m mutant) String() string { return fmt.Sprintf("%s becomes %s", oneLine(m.old), oneLine(m.new)) }

func oneLine(code string) string {
	const most = 90
	code = strings.Join(strings.Fields(code), " ")
	if len(code) > most {
		code = code[:most] + "…"
	}
	return "`" + code + "`"
}

// apply returns the file with the replacement.
func (m mutant) apply(content []byte) []byte {
	return []byte(string(content[:m.start]) + m.new + string(content[m.end:]))
}

// mutantsOf returns all mutants of a planner.
func mutantsOf(p planner) (all []drawn, err error) {
	for _, folder := range p.folders {
		err = errors.Join(err, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && p.without != "" && path == filepath.FromSlash(p.without):
				return filepath.SkipDir
			case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found, err := mutate(content)
			for _, m := range found {
				all = append(all, drawn{p, path, m})
			}
			return err
		}))
	}
	return all, err
}

// swapped are operators and what each becomes. A quorum is off by one if + becomes -.
var swapped = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD,
}

// mutate returns the mutants of a file.
func mutate(content []byte) ([]mutant, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "", content, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	s := source{files.File(parsed.Pos()), content, nil}
	ast.Inspect(parsed, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.BinaryExpr:
			if other, is := swapped[node.Op]; is {
				s.replace(node.OpPos, node.OpPos+token.Pos(len(node.Op.String())), other.String())
			}
		case *ast.IfStmt:
			s.replace(node.Cond.Pos(), node.Cond.End(), "!("+s.text(node.Cond)+")")
		case *ast.ReturnStmt:
			for _, result := range node.Results {
				if name, is := result.(*ast.Ident); is && (name.Name == "true" || name.Name == "false") {
					s.replace(name.Pos(), name.End(), fmt.Sprint(name.Name != "true"))
				}
			}
		case *ast.CompositeLit:
			s.rules(node)
		}
		return true
	})
	return s.found, nil
}

// source collects the mutants of a file.
type source struct {
	file    *token.File
	content []byte
	found   []mutant
}

func (s *source) text(node ast.Node) string {
	return string(s.content[s.file.Offset(node.Pos()):s.file.Offset(node.End())])
}

func (s *source) replace(from, to token.Pos, by string) {
	start, end := s.file.Offset(from), s.file.Offset(to)
	s.found = append(s.found, mutant{start, end, s.file.Line(from), string(s.content[start:end]), by})
}

// rules adds the mutants of a list of rules: one is missing, or stands behind the next one.
func (s *source) rules(list *ast.CompositeLit) {
	if !isOfRules(list.Type) {
		return
	}
	for i, element := range list.Elts {
		end := element.End()
		if s.content[s.file.Offset(end)] == ',' {
			end++
		}
		s.replace(element.Pos(), end, "")
		if i+1 < len(list.Elts) {
			next := list.Elts[i+1]
			s.replace(element.Pos(), next.End(), s.text(next)+", "+s.text(element))
		}
	}
}

func isOfRules(list ast.Expr) bool {
	kind, is := list.(*ast.ArrayType)
	if !is {
		return false
	}
	of, is := kind.Elt.(*ast.Ident)
	return is && (of.Name == "rule" || of.Name == "Rule")
}

// planner is a pure planner, and how to test it.
type planner struct {
	// folders have its production code, with that of the folders below them, apart from without.
	folders []string
	without string
	// tests is its package. slow are tests that run only for a mutant that the others do not find, and skip are those that never run.
	tests, slow, skip string
}

// drawn is a mutant with the planner that it is in.
type drawn struct {
	planner planner
	file    string
	mutant
}
