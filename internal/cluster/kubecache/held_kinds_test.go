package kubecache

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// wholeKinds are held as they are, because an operator serves each of these objects. The manual names the quota that limits their number.
var wholeKinds = []string{"v1beta2.EtcdCluster", "v1beta2.EtcdBackup", "v1beta2.EtcdRestore"}

// A tenant wrote a selector, owner references and finalizers of 1 MiB into his PodDisruptionBudgets and Services. The cache kept them, and a few
// hundred filled the memory of the operator.
func TestTheCacheHoldsFewBytesOfEachKind(t *testing.T) {
	options, err := CacheOptions("")
	if err != nil {
		t.Fatal(err)
	}
	for object, by := range options {
		kind := strings.TrimPrefix(fmt.Sprintf("%T", object), "*")
		if slices.Contains(wholeKinds, kind) {
			continue
		}
		for name, labels := range map[string]map[string]string{"ours": {v1beta2.LabelCluster: "c"}, "of others": nil} {
			full, _ := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
			fill(reflect.ValueOf(full).Elem(), 0)
			full.SetNamespace("ns")
			full.SetName("n")
			full.SetResourceVersion("1")
			full.SetLabels(labels)
			owners := full.GetOwnerReferences()
			owners[0].Controller = ptr.To(true)
			full.SetOwnerReferences(owners)
			kept, err := by.Transform(full)
			if err != nil {
				t.Fatal(err)
			}
			held, is := kept.(client.Object)
			if !is || HeldSize(held) > MaxForeign {
				t.Errorf("%s %s: the cache holds %d KiB in a %T", kind, name, HeldSize(held)>>10, kept)
			}
		}
	}
}

// fill gives each text of an object 64 KiB, and each list 8 elements.
func fill(v reflect.Value, depth int) {
	if depth > 6 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(strings.Repeat("x", 64<<10))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type() != reflect.TypeFor[metav1.Time]() {
				fill(v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 8, 8))
		for i := range v.Len() {
			fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.SetMapIndex(key, value)
	}
}

// Without this test, the next kind that an operator watches is held as its owner wrote it.
func TestEachKindThatAnOperatorWatchesHasABound(t *testing.T) {
	options, err := CacheOptions("")
	if err != nil {
		t.Fatal(err)
	}
	bounded := slices.Clone(wholeKinds)
	for object, by := range options {
		if by.Transform != nil {
			bounded = append(bounded, strings.TrimPrefix(fmt.Sprintf("%T", object), "*"))
		}
	}
	seen := 0
	for _, dir := range []string{"cluster", "backup", "restore"} {
		for kind, where := range watched(t, filepath.Join("..", "..", dir)) {
			seen++
			// The names of packages in imports end with the version, as those of types do, for example corev1 and v1.
			known := slices.ContainsFunc(bounded, func(b string) bool { return strings.HasSuffix(kind, b) })
			if !known || dir != "cluster" && !slices.Contains(wholeKinds, kind) {
				t.Errorf("%s: the cache holds each %s as it is. Give it a Transform in the cache options of its operator, such as strip", where, kind)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d kinds are found", seen)
	}
}

// watched returns the kinds in For, Owns and Watches below a directory, with their file.
func watched(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is || len(call.Args) == 0 {
				return true
			}
			method, is := call.Fun.(*ast.SelectorExpr)
			if !is || !slices.Contains([]string{"For", "Owns", "Watches", "GetInformer", "IndexField"}, method.Sel.Name) {
				return true
			}
			for _, arg := range call.Args {
				address, _ := arg.(*ast.UnaryExpr)
				if address == nil {
					continue
				}
				if literal, is := address.X.(*ast.CompositeLit); is {
					if kind, is := literal.Type.(*ast.SelectorExpr); is {
						found[fmt.Sprintf("%s.%s", kind.X, kind.Sel.Name)] = path
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
