package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	spdxjson "github.com/spdx/tools-golang/json"
	spdx "github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdxlib"
)

func TestSBOMListsTheModulesOfEachProgram(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	doc := newDocument("1.0.0", commit)
	for _, name := range []string{"one-linux-amd64", "two-linux-amd64"} {
		if err := doc.addProgram(self, name, "1.0.0"); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := doc.bytes()
	if err != nil {
		t.Fatal(err)
	}
	read, err := spdxjson.Read(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := spdxlib.ValidateDocument(read); err != nil {
		t.Error(err)
	}
	described, err := spdxlib.GetDescribedPackageIDs(read)
	if err != nil || len(described) != 2 {
		t.Errorf("the document describes %v, error %v", described, err)
	}
	var found []string
	for _, p := range read.Packages {
		found = append(found, p.PackageName)
		if p.PackageVersion == "" {
			t.Errorf("%s has no version", p.PackageName)
		}
	}
	for _, want := range []string{"stdlib", "github.com/spdx/tools-golang", "one-linux-amd64", "two-linux-amd64"} {
		if !slices.Contains(found, want) {
			t.Errorf("the SBOM lacks %s: %v", want, found)
		}
	}
	if needs := dependencies(read); needs%2 != 0 || needs < 10 {
		t.Errorf("the two programs have %d dependencies, which must be as many each", needs)
	}
	if again, err := doc.bytes(); err != nil || !bytes.Equal(raw, again) {
		t.Errorf("the same programs give two SBOMs, error %v", err)
	}
}

func dependencies(doc *spdx.Document) int {
	count := 0
	for _, r := range doc.Relationships {
		if r.Relationship == "DEPENDS_ON" && strings.HasSuffix(string(r.RefA.ElementRefID), "-linux-amd64") {
			count++
		}
	}
	return count
}
