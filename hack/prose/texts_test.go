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
	lines, err := write(filepath.Join(t.TempDir(), "all.md"), []text{
		{file: "a.md", line: 1, words: "one\ntwo", markdown: true},
		{file: "b.go", line: 7, words: "three\nfour %s"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []text{{file: "a.md", line: 1}, {file: "a.md", line: 2}, {file: "a.md", line: 1}, {file: "b.go", line: 7}, {file: "b.go", line: 7}}
	if diff := cmp.Diff(want, lines, cmp.AllowUnexported(text{})); diff != "" {
		t.Error(diff)
	}
}
