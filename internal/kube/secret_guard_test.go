package kube_test

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

// secretTypes are the places where the operators name the type Secret, and why they read none with it.
var secretTypes = map[string]string{
	"internal/kube/secret.go":                       "the one place that reads Secrets",
	"internal/cluster/secrets/kept.go":              "keeps what ReadSecret has returned",
	"internal/cluster/secrets/read.go":              "the same",
	"internal/cluster/secrets/certmanager.go":       "an empty one for a Secret that is not written yet",
	"internal/cluster/secrets/observe_users.go":     "names the kind of what is kept",
	"internal/cluster/secrets/users_certmanager.go": "the same",
	"internal/cluster/act/certificates.go":          "builds and changes Secrets",
	"internal/cluster/act/metadata.go":              "labels what UpdateSecret has read",
	"internal/restore/signed_url.go":                "builds and changes Secrets",
	"internal/backup/attempt/attempttest/world.go":  "Secrets of tests",
	"internal/operator/operator.go":                 "the cache holds no Secrets",
}

// A Secret can have 150,000 keys. A reader of its own would keep it whole, with 25 MiB, and a few of them end the operator for all namespaces.
func TestSecretsAreReadInOnePlace(t *testing.T) {
	root, found := filepath.Join("..", ".."), []string{}
	for _, dir := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			name, _ := filepath.Rel(root, path)
			name = filepath.ToSlash(name)
			if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "/plugin/") || strings.Contains(name, "/kubectl-etcd/") {
				return err
			}
			reads, names := secretsIn(t, path)
			if reads && name != "internal/kube/secret.go" {
				t.Errorf("%s declares a Secret to read it. Use kube.ReadSecret, kube.SecretData or kube.UpdateSecret, because they bound what is kept", name)
			}
			if names {
				found = append(found, name)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range found {
		if secretTypes[name] == "" {
			t.Errorf("%s names the type Secret. Read Secrets with package kube. If it reads none, add it to secretTypes", name)
		}
	}
	for name := range secretTypes {
		if !slices.Contains(found, name) {
			t.Errorf("%s is listed, and does not name the type Secret", name)
		}
	}
}

// secretsIn returns whether a file declares a Secret or a list of them that a client can fill, and whether it names the type. "Secret" as the kind of
// another object, for example of its metadata, counts as a declaration.
func secretsIn(t *testing.T, path string) (reads, names bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ValueSpec:
			reads = reads || isSecret(node.Type)
		case *ast.CallExpr:
			if called, is := node.Fun.(*ast.Ident); is && called.Name == "new" && len(node.Args) == 1 {
				reads = reads || isSecret(node.Args[0])
			}
			if called, is := node.Fun.(*ast.SelectorExpr); is && strings.Contains(called.Sel.Name, "WithKind") && len(node.Args) == 1 {
				kind, literal := node.Args[0].(*ast.BasicLit)
				reads = reads || literal && strings.HasPrefix(kind.Value, `"Secret`)
			}
			if called, is := node.Fun.(*ast.SelectorExpr); is && called.Sel.Name == "Secrets" {
				reads = true // a clientset
			}
		case *ast.SelectorExpr:
			names = names || isSecret(node)
		}
		return true
	})
	return reads, names
}

func isSecret(of ast.Expr) bool {
	selector, is := of.(*ast.SelectorExpr)
	if !is {
		return false
	}
	in, is := selector.X.(*ast.Ident)
	return is && in.Name == "corev1" && (selector.Sel.Name == "Secret" || selector.Sel.Name == "SecretList")
}
