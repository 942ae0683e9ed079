package world

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestArchitectureListsEveryInvariant(t *testing.T) {
	text, err := os.ReadFile("../../../../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for number, invariant := range Invariants {
		row := fmt.Sprintf("| %d | %s | %s |", number, invariant.Name, invariant.Sentence)
		if !strings.Contains(string(text), row) {
			t.Errorf("ARCHITECTURE.md has no row %s", row)
		}
	}
}
