package etcd

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// redirects are the files with an HTTP client, and which redirects it follows.
var redirects = map[string]string{
	"internal/etcd/pods.go":                 "none: the containers of a Pod are the user's",
	"internal/plugin/cli/session/tunnel.go": "none: the API server answers itself",
	"internal/objstore/signed/signed.go":    "none: a signature is valid for one server",
	"internal/objstore/abs/abs.go":          "those to the same server (stall.SameServer)",
	"internal/objstore/gcs/gcs.go":          "those to the same server (stall.SameServer)",
	"internal/objstore/s3/open.go":          "those to the same server, and from one server of Amazon to another",
}

// A tenant chooses which server many requests of the operators are sent to. A client that follows each redirect lets that server lead an
// operator to others, which only the operator reaches. The default client does, and it uses the proxy of the environment.
func TestEachHTTPClientSaysWhichRedirectsItFollows(t *testing.T) {
	unused := maps.Clone(redirects)
	for path, file := range sources(t) {
		name := nameOfHTTP(file)
		if name == "" {
			continue
		}
		decides, open := clientsIn(file, name)
		for _, what := range open {
			t.Errorf("%s uses %s, which follows each redirect: use etcd.Get for Pods of members, or set CheckRedirect", path, what)
		}
		if decides && redirects[path] == "" {
			t.Errorf("%s has an HTTP client: use etcd.Get for Pods of members, or list here which redirects it follows", path)
		}
		if decides {
			delete(unused, path)
		}
	}
	for path := range unused {
		t.Errorf("%s has no HTTP client any more: remove it from this list", path)
	}
}

func TestTheSearchForHTTPClientsFindsEachForm(t *testing.T) {
	for code, want := range map[string]string{
		`web.Get("u")`:                                "Get",
		`web.Post("u", "", nil)`:                      "Post",
		`web.PostForm("u", nil)`:                      "PostForm",
		`web.Head("u")`:                               "Head",
		`web.DefaultClient.Do(nil)`:                   "DefaultClient",
		`(&web.Client{Timeout: 1}).Do(r)`:             "Client",
		`new(web.Client).Do(r)`:                       "Client",
		`var c web.Client; c.Do(r)`:                   "Client",
		`(&web.Client{CheckRedirect: f}).Do(r)`:       "",
		`func(c *web.Client) { c.CheckRedirect = f }`: "",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nimport web \"net/http\"\nfunc x() { _ = 1; "+strings.Replace(code, "func(c", "_ = func(c", 1)+" }", 0)
		if err != nil {
			t.Fatal(code, err)
		}
		decides, open := clientsIn(file, nameOfHTTP(file))
		if got := strings.Join(open, " "); got != strings.TrimSuffix("http."+want, "http.") || decides != (want == "") {
			t.Errorf("in %s the search finds %q, and a client with a rule: %t", code, got, decides)
		}
	}
}

// clientsIn returns whether a client in a file has a rule for redirects, and what uses a client without one.
func clientsIn(file *ast.File, pkg string) (decides bool, open []string) {
	ruled := map[ast.Expr]bool{} // types of literals that have a rule, and of pointers
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StarExpr:
			ruled[n.X] = true
		case *ast.CompositeLit:
			has := slices.ContainsFunc(n.Elts, func(e ast.Expr) bool {
				pair, is := e.(*ast.KeyValueExpr)
				if !is {
					return false
				}
				key, is := pair.Key.(*ast.Ident)
				return is && key.Name == "CheckRedirect"
			})
			ruled[n.Type], decides = ruled[n.Type] || has, decides || has
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				field, is := left.(*ast.SelectorExpr)
				decides = decides || is && field.Sel.Name == "CheckRedirect"
			}
		case *ast.SelectorExpr:
			from, is := n.X.(*ast.Ident)
			if is && from.Name == pkg && !ruled[n] && slices.Contains([]string{"DefaultClient", "Get", "Head", "Post", "PostForm", "Client"}, n.Sel.Name) {
				open = append(open, "http."+n.Sel.Name)
			}
		}
		return true
	})
	return decides, open
}

// nameOfHTTP returns under which name a file imports net/http. It is empty if it does not.
func nameOfHTTP(file *ast.File) string {
	for _, i := range file.Imports {
		if path, _ := strconv.Unquote(i.Path.Value); path == "net/http" && i.Name != nil {
			return i.Name.Name
		} else if path == "net/http" {
			return "http"
		}
	}
	return ""
}

// sources returns the parsed files of all programs.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	files, root := map[string]*ast.File{}, filepath.Join("..", "..")
	for _, top := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			name, _ := filepath.Rel(root, path)
			files[filepath.ToSlash(name)] = parsed
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}
