package main

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMessagesAreStringsOfFourWordsWithTheirSums(t *testing.T) {
	const source = `package p

func f(name string) string {
	_ = "too short"
	return "member " + name + " does not answer: " +
		"restart it"
}
`
	got, err := goMessages("p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]text{{file: "p.go", line: 5, words: "member %v does not answer: restart it"}}, got, cmp.AllowUnexported(text{})); diff != "" {
		t.Error(diff)
	}
}

func TestCommentsOfTheAPIAreReadByParagraphWithTheMessagesOfRules(t *testing.T) {
	const source = `package p

// T is a type,
// and so on.
//
// Second.
// +kubebuilder:validation:XValidation:rule="self > 0",message="write a larger number"
type T int
`
	want := []text{
		{file: "p.go", line: 3, words: "T is a type, and so on. "},
		{file: "p.go", line: 6, words: "Second. "},
		{file: "p.go", line: 7, words: "write a larger number"},
	}
	got, err := goComments("p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(text{})); diff != "" {
		t.Error(diff)
	}
}

func TestCommentsOfValuesAreJoinedAndThoseBehindAValueStandAlone(t *testing.T) {
	want := []text{
		{file: "v.yaml", line: 1, words: "One and more."},
		{file: "v.yaml", line: 3, words: "info or debug"},
	}
	got, err := yamlComments("v.yaml", []byte("# One\n# and more.\nlevel: info # info or debug\nurl: http://x/#y\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(text{})); diff != "" {
		t.Error(diff)
	}
}

func TestFindingsPointToTheLineOfTheSource(t *testing.T) {
	dir := t.TempDir()
	got, err := write(dir, []text{
		{file: "a.md", line: 1, words: "one\ntwo\n", markdown: true},
		{file: "b.go", line: 7, words: "three\nfour %s"},
		{file: "b.go", line: 9, words: "five"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]copied{
		filepath.Join(dir, "a.md.md"): {"a.md", []int{1, 2, 3}},
		filepath.Join(dir, "b.go.md"): {"b.go", []int{7, 7, 9, 9}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(copied{})); diff != "" {
		t.Error(diff)
	}
}
