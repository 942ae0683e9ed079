package findings

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/plugin/plugintest"
	"github.com/etcd-suite/etcd-operator/internal/plugin/runbook"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

func TestScreens(t *testing.T) {
	for name, change := range plugintest.Faults {
		t.Run(name, func(t *testing.T) {
			objects := plugintest.Healthy()
			change(&objects)
			var out strings.Builder
			if err := Inspect(objects).Render(&out, terminal.Style{Width: 100}); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".txt")
			if *plugintest.Update {
				if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Errorf("screen (-want +got; -update writes it):\n%s", diff)
			}
		})
	}
}

func TestFirstThreeLinesNameProblemImpactAndFix(t *testing.T) {
	for name, change := range plugintest.Faults {
		objects := plugintest.Healthy()
		change(&objects)
		lines := Inspect(objects).FirstLines()
		for i, label := range []string{"", "Impact:  ", "Fix:     "} {
			if !strings.HasPrefix(lines[i], label) || len(lines[i]) < len(label)+4 || strings.Contains(lines[i], "\n") {
				t.Errorf("%s: line %d is %q", name, i+1, lines[i])
			}
		}
		if quiet := []string{"healthy", "no-backup", "plain-text", "shared-ca"}; strings.HasPrefix(lines[0], "OK:") != slices.Contains(quiet, name) {
			t.Errorf("%s: %s", name, lines[0])
		}
	}
}

// leftover is the text of a link that a terminal cannot follow.
var leftover = regexp.MustCompile(`\((how|why|example|details)\)`)

func TestEveryReasonHasImpactAndFixInTheRunbook(t *testing.T) {
	pages := runbook.Pages()
	if len(pages) < 80 {
		t.Fatalf("the runbook has %d pages", len(pages))
	}
	for reason, page := range pages {
		if page.Impact == "" || page.Fix == "" || strings.HasSuffix(page.Fix, ":") || strings.Contains(page.Fix, "](") || leftover.MatchString(page.Impact+page.Fix) {
			t.Errorf("%s: impact %q, fix %q", reason, page.Impact, page.Fix)
		}
	}
	for _, reason := range progressing {
		if _, ok := pages[reason]; !ok {
			t.Errorf("%s is not in the runbook", reason)
		}
	}
}

// A page for several kinds begins each sentence with its kind. A restore that failed must not read what a backup did.
func TestImpactIsThatOfTheKind(t *testing.T) {
	page := runbook.ParsePage("**Impact.** EtcdBackup and EtcdRestore: nothing is done. EtcdCluster: the members serve unchanged. The message has more.\n\n**Fix.** Wait.")
	for object, want := range map[string]string{
		"EtcdRestore back":    "Nothing is done. The message has more.",
		"EtcdCluster example": "The members serve unchanged. The message has more.",
		"Pod example-a":       page.Impact,
	} {
		if got := about(object, page.Impact); got != want {
			t.Errorf("%s: %q, want %q", object, got, want)
		}
	}
}

func TestColourOnlyIfAsked(t *testing.T) {
	for _, color := range []bool{false, true} {
		var out strings.Builder
		if err := Inspect(plugintest.Healthy()).Render(&out, terminal.Style{Color: color}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "\x1b") != color {
			t.Errorf("colour %t: %q", color, out.String())
		}
	}
}

// An archive that stops writes no snapshot condition: Ready of its EtcdBackup stays True.
func TestAnArchiveThatStoppedIsAProblemUnlessItsClusterIsStopped(t *testing.T) {
	for name, want := range map[string]string{
		"archive-delayed":       "Problem: EtcdBackup hourly: ArchiveDelayed. Some changes are not in the store yet.",
		"archive-of-hibernated": "State:   EtcdCluster example: Hibernated.",
	} {
		objects := plugintest.Healthy()
		plugintest.Faults[name](&objects)
		if got := Inspect(objects).FirstLines()[0]; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Ready has one reason. While it is about something that holds the operator up, a member that is down would be shown in the table only.
func TestAMemberThatIsDownIsNamedWhileSomethingElseHoldsTheOperatorUp(t *testing.T) {
	objects := plugintest.Healthy()
	plugintest.Faults["paused-degraded"](&objects)
	lines := Inspect(objects).FirstLines()
	if !strings.HasPrefix(lines[0], "Problem: EtcdCluster example: Paused.") || !strings.HasSuffix(lines[0], "These members do not serve: example-b: connection refused.") {
		t.Error(lines[0])
	}
}

// The page of PodFailing is about one member: that the others serve would be wrong.
func TestTheImpactOfAnOutageIsThatOfTheWholeCluster(t *testing.T) {
	objects := plugintest.Healthy()
	plugintest.Faults["disks-full"](&objects)
	if got, want := Inspect(objects).FirstLines()[1], "Impact:  Clients are not served. No member serves."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Without a quorum the operator replaces no member, although the page of MemberDown says so.
func TestTheFixOfALostQuorumIsNotToWaitForAReplacement(t *testing.T) {
	objects := plugintest.Healthy()
	plugintest.Faults["quorum-down"](&objects)
	if lines := Inspect(objects).FirstLines(); !strings.Contains(lines[1], "etcd accepts no writes") || !strings.Contains(lines[2], "Recover what is down") {
		t.Errorf("%q", lines)
	}
}

// A standby serves no client, as its owner wants. Shown as an outage, it hides what is really down, and is repaired until its data is gone.
func TestAStandbyIsNoOutage(t *testing.T) {
	for name, want := range map[string]string{
		"standby":         "State:   EtcdCluster example: Following.",
		"standby-broken":  "Problem: EtcdRestore move: FollowingBroken.",
		"standby-stalled": "Problem: EtcdCluster example: FollowNeedsCredentials.",
		"switchover":      "State:   EtcdBackup hourly: ReadOnly. The switchover is Ready.",
		"switched-over":   "State:   EtcdCluster example: ReadOnly.",
	} {
		objects := plugintest.Healthy()
		plugintest.Faults[name](&objects)
		if got := Inspect(objects).FirstLines()[0]; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
