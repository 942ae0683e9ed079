package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// table is what is measured of one package. Tests do not count.
type table struct {
	name          string
	files, lines  int
	arrows, up    int
	circle        int    // files in the largest circle; 1 if there is none
	most          string // the type with most methods, and how many it has
	usesOf        graph
	methodsOfType map[string]int
}

// measure loads the packages that patterns match in a folder.
func measure(folder string, patterns ...string) ([]table, error) {
	loaded, err := packages.Load(&packages.Config{
		Dir:  folder,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedModule,
	}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("load the packages in %s: %w", folder, err)
	}
	var tables []table
	for _, p := range loaded {
		if err := errorOf(p); err != nil {
			return nil, err
		}
		if len(p.Syntax) > 0 {
			tables = append(tables, measurePackage(p))
		}
	}
	slices.SortFunc(tables, func(a, b table) int { return cmp.Or(cmp.Compare(b.arrows, a.arrows), cmp.Compare(a.name, b.name)) })
	return tables, nil
}

func errorOf(p *packages.Package) error {
	var all []error
	for _, e := range p.Errors {
		all = append(all, fmt.Errorf("package %s: %w", p.PkgPath, e))
	}
	return errors.Join(all...)
}

func measurePackage(p *packages.Package) table {
	t := table{name: nameOf(p), files: len(p.Syntax), usesOf: graph{}, methodsOfType: map[string]int{}}
	for _, file := range p.Syntax {
		t.lines += p.Fset.File(file.FileStart).LineCount()
		t.usesOf[fileOf(p, file)] = map[string]bool{}
	}
	for used, object := range p.TypesInfo.Uses {
		if from, to := fileOf(p, used), declaredIn(p, object); to != "" && from != to {
			t.usesOf[from][to] = true
		}
	}
	for _, file := range p.Syntax {
		for _, declaration := range file.Decls {
			if receiver := receiverOf(declaration); receiver != "" {
				t.methodsOfType[receiver]++
			}
		}
	}
	t.arrows, t.up, t.circle = t.usesOf.arrows(), t.usesOf.up(), t.usesOf.largestCircle()
	t.most = most(t.methodsOfType)
	return t
}

func nameOf(p *packages.Package) string {
	if p.Module == nil {
		return p.PkgPath
	}
	return strings.TrimPrefix(p.PkgPath, p.Module.Path+"/")
}

func fileOf(p *packages.Package, node ast.Node) string { return p.Fset.File(node.Pos()).Name() }

// declaredIn is the file of what is declared at the top level of the package, or of a method of it. It is empty for all else.
func declaredIn(p *packages.Package, object types.Object) string {
	if object.Pkg() != p.Types || !object.Pos().IsValid() {
		return ""
	}
	function, isFunction := object.(*types.Func)
	if object.Parent() != p.Types.Scope() && (!isFunction || function.Signature().Recv() == nil) {
		return ""
	}
	return p.Fset.File(object.Pos()).Name()
}

func receiverOf(declaration ast.Decl) string {
	function, ok := declaration.(*ast.FuncDecl)
	if !ok || function.Recv == nil {
		return ""
	}
	expression := function.Recv.List[0].Type
	for {
		switch e := expression.(type) {
		case *ast.StarExpr:
			expression = e.X
		case *ast.IndexExpr:
			expression = e.X
		case *ast.IndexListExpr:
			expression = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

func most(methods map[string]int) string {
	highest := ""
	for name, n := range methods {
		if highest == "" || n > methods[highest] || n == methods[highest] && name < highest {
			highest = name
		}
	}
	if highest == "" {
		return "-"
	}
	return fmt.Sprintf("%s: %d", highest, methods[highest])
}
