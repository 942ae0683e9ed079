package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// A picture of older figures would contradict the table beside it.
func TestThePictureShowsTheTableOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	table, err := parse(string(page))
	if err != nil {
		t.Fatal(err)
	}
	svg, err := table.draw()
	if err != nil {
		t.Fatal(err)
	}
	var drawn bytes.Buffer
	if _, err := svg.WriteTo(&drawn); err != nil {
		t.Fatal(err)
	}
	shown, err := os.ReadFile("../../docs/images/scale.svg")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(drawn.Bytes(), shown) {
		t.Error("the table has changed: run make pictures")
	}
}

func TestAPageWithoutTheTableOrAColumnIsAnError(t *testing.T) {
	if _, err := parse("| what | result |\n|---|---|\n| first | 1 |\n"); err == nil {
		t.Error("a page without the table is accepted")
	}
	table, err := parse("| N | memory |\n|---|---|\n| 1,000 | 150 MiB |\n\ntext\n")
	if err != nil || table["N"][0] != 1000 || table["memory"][0] != 150 {
		t.Fatalf("got %v and error %v", table, err)
	}
	if _, err := table.draw(); err == nil || !strings.Contains(err.Error(), "no column") {
		t.Errorf("a table without a column is drawn: %v", err)
	}
}
