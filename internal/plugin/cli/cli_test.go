package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
)

func TestThePageHasEveryCommandAndFlag(t *testing.T) {
	text, err := os.ReadFile("../../../docs/kubectl-etcd.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, part := range strings.Split(string(text), "\n## ")[1:] {
		name, body, _ := strings.Cut(part, "\n")
		sections[name] = body
	}
	for _, name := range []string{"Install", "Flags of the connection", "Faults", "What is missing"} {
		delete(sections, name)
	}
	delete(sections, "completion") // cobra adds it when a command runs
	for _, c := range New(session.IO{}, "dev").Commands() {
		body, ok := sections[c.Name()]
		if !ok {
			t.Errorf("docs/kubectl-etcd.md does not have %s", c.Name())
			continue
		}
		delete(sections, c.Name())
		checkFlags(t, c, body)
	}
	for name := range sections {
		t.Errorf("docs/kubectl-etcd.md has %s, and there is no such command", name)
	}
}

// Each command also has these flags. The page lists them in one place.
func TestThePageHasTheFlagsOfTheConnection(t *testing.T) {
	text, err := os.ReadFile("../../../docs/kubectl-etcd.md")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(text), "\n## Flags of the connection\n")
	body, _, _ = strings.Cut(body, "\n## ")
	var want, got []string
	New(session.IO{}, "dev").PersistentFlags().VisitAll(func(f *pflag.Flag) { want = append(want, "--"+f.Name) })
	for _, match := range regexp.MustCompile("`(--[a-z-]+)`").FindAllStringSubmatch(body, -1) {
		got = append(got, match[1])
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags in docs/kubectl-etcd.md (-want +got):\n%s", diff)
	}
}

func checkFlags(t *testing.T, c *cobra.Command, body string) {
	t.Helper()
	var want []string
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { want = append(want, "--"+f.Name) })
	for _, flag := range want {
		if !strings.Contains(body, "`"+flag+"`") {
			t.Errorf("docs/kubectl-etcd.md does not have %s of %s", flag, c.Name())
		}
	}
	for _, match := range regexp.MustCompile("`(--[a-z-]+)`").FindAllStringSubmatch(body, -1) {
		if c.LocalNonPersistentFlags().Lookup(strings.TrimPrefix(match[1], "--")) == nil {
			t.Errorf("docs/kubectl-etcd.md has %s of %s, and there is no such flag", match[1], c.Name())
		}
	}
}

func TestAChangeNeedsYesOrAnAnswer(t *testing.T) {
	for _, c := range []struct {
		terminal, yes bool
		answer        string
		accepted      bool
	}{
		{false, false, "yes\n", false},
		{false, true, "", true},
		{true, false, "yes\n", true},
		{true, false, "y\n", false},
		{true, false, "\n", false},
		{true, false, "", false},
	} {
		var out strings.Builder
		p := &session.Session{IO: session.IO{In: strings.NewReader(c.answer), Out: &out, Terminal: c.terminal, Now: time.Now}, Yes: c.yes}
		err := p.Confirm(t.Context(), "Members stop.")
		if (err == nil) != c.accepted {
			t.Errorf("%+v: %v", c, err)
		}
		if err != nil && !strings.Contains(err.Error(), "Nothing was changed") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestCompletionListsTheCommands(t *testing.T) {
	var out strings.Builder
	root := New(session.IO{Out: &out}, "dev")
	root.SetArgs([]string{"__complete", "hib"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	if got, _, _ := strings.Cut(out.String(), "\t"); cmp.Diff("hibernate", got) != "" {
		t.Errorf("%q", out.String())
	}
}

func TestCtrlCAtTheQuestionEndsTheCommand(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in, _ := io.Pipe() // a terminal without input
	p := &session.Session{IO: session.IO{In: in, Out: io.Discard, Terminal: true, Now: time.Now}}
	err := p.Confirm(ctx, "Members stop.")
	if err == nil || !strings.Contains(err.Error(), "Nothing was changed") || ExitCode(ctx, err) != 130 {
		t.Errorf("%v, exit code %d", err, ExitCode(ctx, err))
	}
}

func TestExitCodeIsOneForAnErrorAndZeroWithoutOne(t *testing.T) {
	if got := ExitCode(t.Context(), errors.New("refused")); got != 1 {
		t.Errorf("error: %d", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := ExitCode(ctx, nil); got != 0 {
		t.Errorf("done before Ctrl-C: %d", got)
	}
}
