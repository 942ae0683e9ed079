package verify

import (
	"fmt"
	"testing"
)

func TestARestoreTestCondemnsAnObjectThatWasReplaced(t *testing.T) {
	if !condemns(fmt.Errorf("%w: its SHA-256 is another one", errReplaced)) {
		t.Error("the object passes")
	}
}
