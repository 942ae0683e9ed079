package readme

import (
	"os"
	"strings"
	"testing"
)

// Users search the manual for the words of other databases and for the words of messages. A word without an entry finds nothing.
func TestTheGlossaryHasAnEntryForEachWord(t *testing.T) {
	page, err := os.ReadFile("../../docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{
		"RPO", "RTO", "PITR", "Base backup", "Incarnation", "Seed", "Spool", "Series", "Timeline", "Fence", "Learner", "Standby", "Promotion", "Switchover", // words that people search
		"verify", "restore test", "archive proof", "`drill`", "Verdict", "Proof", // the family of checks
		"Snapshot", "Manifest", "Retention", "Safety snapshot", "Switch", "Quorum", "Member", "Foreign member", "Reason",
	} {
		if !strings.Contains(string(page), "\n**"+word) && !strings.Contains(string(page), "\n| **"+word+"**") {
			t.Errorf("the glossary has no entry for %s", word)
		}
	}
}
