package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

func parse(file string, content []byte) (*token.FileSet, *ast.File, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, content, parser.ParseComments)
	return files, parsed, err
}

func skipped(file string) bool {
	return !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.Contains(file, "zz_generated")
}

var ruleMessage = regexp.MustCompile(`message="([^"]+)"`)

// goComments are the paragraphs of all comments, which controller-gen and pkg.go.dev show, and the messages of CEL rules.
func goComments(file string, content []byte) ([]text, error) {
	if skipped(file) {
		return nil, nil
	}
	files, parsed, err := parse(file, content)
	if err != nil {
		return nil, err
	}
	var found []text
	for _, group := range parsed.Comments {
		paragraph := text{file: file}
		flush := func() {
			if paragraph.words != "" {
				found = append(found, paragraph)
			}
			paragraph.words = ""
		}
		for _, comment := range group.List {
			line := strings.TrimSpace(strings.TrimPrefix(comment.Text, "//"))
			at := files.Position(comment.Pos()).Line
			if strings.HasPrefix(line, "+") || line == "" {
				flush()
				if match := ruleMessage.FindStringSubmatch(line); match != nil {
					found = append(found, text{file: file, line: at, words: match[1]})
				}
				continue
			}
			if paragraph.words == "" {
				paragraph.line = at
			}
			paragraph.words += line + " "
		}
		flush()
	}
	return found, nil
}

// goMessages are the strings of at least four words that a program may show: a sum of strings is one, with X for
// what only the running program has.
func goMessages(file string, content []byte) ([]text, error) {
	if skipped(file) {
		return nil, nil
	}
	files, parsed, err := parse(file, content)
	if err != nil {
		return nil, err
	}
	var found []text
	ast.Inspect(parsed, func(node ast.Node) bool {
		expression, ok := node.(ast.Expr)
		if !ok {
			return true
		}
		words, ok := sum(expression)
		if !ok {
			return true
		}
		if len(strings.Fields(words)) >= 4 && !strings.ContainsFunc(words, unreadable) {
			found = append(found, text{file: file, line: files.Position(node.Pos()).Line, words: words})
		}
		return false
	})
	return found, nil
}

// unreadable characters are in data and in scripts, and not in a message.
func unreadable(r rune) bool { return !unicode.IsPrint(r) }

// sum is the text of a string literal, or of a sum that holds one.
func sum(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		words, err := strconv.Unquote(e.Value)
		return words, err == nil
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		left, ok := sum(e.X)
		right, also := sum(e.Y)
		if !ok && !also {
			return "", false
		}
		if !ok {
			left = "%v"
		}
		if !also {
			right = "%v"
		}
		return left + right, true
	}
	return "", false
}

// text is prose at a line of a file. Markdown is kept as it is, all else is one paragraph.
type text struct {
	file     string
	line     int
	words    string
	markdown bool
}
