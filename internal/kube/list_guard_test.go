package kube_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// A tenant has hundreds of EtcdBackups and EtcdRestores of 1 MiB. The cache holds them once, but each pass of the namespace copied all of them to
// read a few fields. A few passes at the same time ended the operator, and with it the backups of all other namespaces.
func TestAListFromTheCacheCopiesNoObjects(t *testing.T) {
	lists := 0
	for _, dir := range []string{"backup", "restore"} {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, is := n.(*ast.CallExpr)
				if !is || !hasArgument(call, "InNamespace") {
					return true
				}
				if lists++; !hasArgument(call, "UnsafeDisableDeepCopy") {
					t.Errorf("%s lists objects of a namespace and copies all of them. Add client.UnsafeDisableDeepCopy, and change none of them", path)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if lists < 6 {
		t.Errorf("only %d lists are found", lists)
	}
}

// hasArgument returns whether a call of a method List has this option of package client.
func hasArgument(call *ast.CallExpr, option string) bool {
	if method, is := call.Fun.(*ast.SelectorExpr); !is || method.Sel.Name != "List" {
		return false
	}
	for _, argument := range call.Args {
		if made, is := argument.(*ast.CallExpr); is {
			argument = made.Fun
		}
		if of, is := argument.(*ast.SelectorExpr); is && of.Sel.Name == option {
			return true
		}
	}
	return false
}
