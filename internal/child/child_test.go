package child

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

const talkative = "talk-without-an-end"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == talkative {
		for range 30 {
			fmt.Fprint(os.Stdout, strings.Repeat("x", 1<<20))
			fmt.Fprint(os.Stderr, strings.Repeat("y", 1<<20))
		}
		os.Exit(len(os.Environ()))
	}
	os.Exit(m.Run())
}

// A child has read what another party wrote, and may say all of it.
func TestWhatAChildSaysTakesNoMemoryOfTheOperator(t *testing.T) {
	p, err := New(t.Context(), talkative)
	if err != nil {
		t.Fatal(err)
	}
	heaptest.Bound(t, 16, func() { err = p.Run() })
	if err != nil {
		t.Errorf("the child has variables of the environment: %v", err)
	}
	if len(p.Answer()) != MaxAnswer || len(p.Diagnosis()) != maxDiagnosis || len(Cause(p.Diagnosis())) > maxText+3 {
		t.Errorf("%d bytes of the answer, %d of the diagnosis, %d of the cause", len(p.Answer()), len(p.Diagnosis()), len(Cause(p.Diagnosis())))
	}
}

func TestATextOfAnAnswerIsShortOnBothSides(t *testing.T) {
	long := strings.Repeat("é\x00\xff", 1<<20)
	said, err := json.Marshal(struct{ Error Text }{TextOf(errors.New(long))})
	if err != nil || len(said) > 8*maxText {
		t.Fatalf("the child says %d bytes, error %v", len(said), err)
	}
	unbounded, err := json.Marshal(struct{ Error string }{long})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"a short one": said, "one of another child": unbounded} {
		var read struct{ Error Text }
		if err := json.Unmarshal(text, &read); err != nil || len(read.Error) > maxText+3 || read.Error == "" {
			t.Errorf("%s: %d bytes, error %v", name, len(read.Error), err)
		}
	}
	if TextOf(nil) != "" {
		t.Error("no error has a text")
	}
}
