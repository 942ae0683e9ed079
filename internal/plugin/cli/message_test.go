package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
)

// A user who answers no did what the question offers. "Error:" would let the user look for a fault.
func TestADecisionOfTheUserIsNoError(t *testing.T) {
	p := &session.Session{IO: session.IO{In: strings.NewReader("no\n"), Out: io.Discard, Terminal: true, Now: time.Now}}
	err := p.Confirm(t.Context(), "Members stop.")
	want := "The answer was not yes. Nothing was changed. Run the command again to continue."
	if diff := cmp.Diff(want, session.Message(t.Context(), err, 0)); diff != "" {
		t.Error(diff)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if got := session.Message(stopped, errors.New("the command was interrupted"), 0); got != "The command was interrupted." {
		t.Error(got)
	}
}

// In a script the message must begin with what is wrong. The question first read as if the members had stopped.
func TestAScriptWithoutYesReadsWhyBeforeWhat(t *testing.T) {
	p := &session.Session{IO: session.IO{In: strings.NewReader(""), Out: io.Discard, Now: time.Now}}
	got := session.Message(t.Context(), p.Confirm(t.Context(), "All members of EtcdCluster example stop."), 0)
	if !strings.HasPrefix(got, "Error: the command asks before a change") || !strings.HasSuffix(got, "The change is: All members of EtcdCluster example stop.") {
		t.Error(got)
	}
}

func TestMessagesEndWithAFullStopAndCommandsWithoutOne(t *testing.T) {
	for text, want := range map[string]string{
		"EtcdCluster x cannot be read. List them: kubectl get etcd": "Error: EtcdCluster x cannot be read. List them: kubectl get etcd",
		"the work stopped":  "Error: the work stopped.",
		"the work stopped.": "Error: the work stopped.",
		"there is none. To create one, see https://example.com/first.html": "Error: there is none. To create one, see https://example.com/first.html",
	} {
		if got := session.Message(t.Context(), errors.New(text), 0); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	long := session.Message(t.Context(), fmt.Errorf("%s", strings.Repeat("word ", 60)), 80)
	for line := range strings.SplitSeq(long, "\n") {
		if len(line) > 80 {
			t.Errorf("%d characters: %s", len(line), line)
		}
	}
}

// The next step erases one row. The rest of a line that the terminal wrapped would stay on the screen.
func TestAStepFitsIntoOneRowAndTheLastOneIsShownInFull(t *testing.T) {
	var out strings.Builder
	p := &session.Session{IO: session.IO{Out: &out, Terminal: true, Width: 40}, Raw: session.IO{Out: &out}}
	long := "Upgrading: " + strings.Repeat("word ", 20) + "end"
	p.Step(long)
	if row := strings.TrimPrefix(out.String(), "\r\x1b[K"); len(row) >= 40 {
		t.Errorf("%d characters: %q", len(row), row)
	}
	p.Last(long)
	if !strings.HasSuffix(out.String(), "end\n") {
		t.Errorf("%q", out.String())
	}
}
