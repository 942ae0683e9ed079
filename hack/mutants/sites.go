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

// mutant is a change of a file. woven are the pieces of text that turn it on or off while the program runs, with %d for its number.
type mutant struct {
	line     int // of the first byte that changes
	old, new string
	woven    []piece
}

// piece replaces the bytes from start to end of a file. Most have none, and stand before or after an expression.
type piece struct {
	start, end int
	text       string
	after      bool
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

// swapped are operators, what each becomes, and the function of package on that does either. A quorum is off by one if + becomes -.
var swapped = map[token.Token]struct {
	by       token.Token
	function string
}{
	token.LSS: {token.LEQ, "Less"}, token.LEQ: {token.LSS, "AtMost"}, token.GTR: {token.GEQ, "More"}, token.GEQ: {token.GTR, "AtLeast"},
	token.EQL: {token.NEQ, "Not"}, token.NEQ: {token.EQL, "Not"}, token.LAND: {token.LOR, "And"}, token.LOR: {token.LAND, "Or"},
	token.ADD: {token.SUB, "Plus"}, token.SUB: {token.ADD, "Minus"},
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
		case *ast.GenDecl:
			return node.Tok != token.CONST
		case *ast.BinaryExpr:
			s.operator(node)
		case *ast.IfStmt:
			text := s.text(node.Cond)
			s.wrap(node.Cond, text, "!("+text+")", "Not(%d, ")
		case *ast.ReturnStmt:
			for _, result := range node.Results {
				if name, is := result.(*ast.Ident); is && (name.Name == "true" || name.Name == "false") {
					s.wrap(name, name.Name, fmt.Sprint(name.Name != "true"), "Not(%d, ")
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

// wrap adds a mutant that hands the expression to a function of package on.
func (s *source) wrap(node ast.Node, old, by, call string) {
	start, end := s.file.Offset(node.Pos()), s.file.Offset(node.End())
	s.found = append(s.found, mutant{s.file.Line(node.Pos()), old, by, []piece{{start, start, "mutantsOn." + call, false}, {end, end, ")", true}}})
}

func (s *source) operator(node *ast.BinaryExpr) {
	other, is := swapped[node.Op]
	if !is || node.Op == token.ADD && isText(node) {
		return
	}
	s.wrap(node, node.Op.String(), other.by.String(), other.function+"(%d, ")
	m := &s.found[len(s.found)-1]
	m.line = s.file.Line(node.OpPos)
	between, start := "", s.file.Offset(node.OpPos)
	switch node.Op {
	case token.EQL, token.NEQ:
		return
	case token.LAND, token.LOR:
		between = ", func() bool { return ("
		m.woven[1].text = ") })"
	default:
		between = ", "
	}
	m.woven = append(m.woven, piece{start, start + len(node.Op.String()), between, false})
}

// isText reports if a text is added, which cannot be subtracted.
func isText(added ast.Expr) bool {
	switch added := added.(type) {
	case *ast.BinaryExpr:
		return added.Op == token.ADD && (isText(added.X) || isText(added.Y))
	case *ast.BasicLit:
		return added.Kind == token.STRING
	}
	return false
}

// rules adds the mutants of a list of rules: one is missing, or stands behind the next one.
func (s *source) rules(list *ast.CompositeLit) {
	if !isOfRules(list.Type) {
		return
	}
	for i, element := range list.Elts {
		text, line := s.text(element), s.file.Line(element.Pos())
		s.wrap(list, text, "", fmt.Sprintf("Without(%%d, %d, ", i))
		s.found[len(s.found)-1].line = line
		if i+1 < len(list.Elts) {
			next := s.text(list.Elts[i+1])
			s.wrap(list, text+", "+next, next+", "+text, fmt.Sprintf("Swapped(%%d, %d, ", i))
			s.found[len(s.found)-1].line = line
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
