package etcdversion

import (
	"strings"
	"testing"
)

func TestEachDefectHasWhatAPersonNeeds(t *testing.T) {
	for _, d := range Defects() {
		if err := d.check(); err != nil || d.Handled == "" || !strings.HasPrefix(d.Source, "https://github.com/etcd-io/etcd/") {
			t.Errorf("%s (%s): %v, handled %q, source %s", d.Effect, d.From, err, d.Handled, d.Source)
		}
		if strings.HasSuffix(d.Effect, ".") || !strings.HasSuffix(d.Handled, ".") {
			t.Errorf("%s: the effect is a clause, and what the operator does is a sentence: %s", d.Effect, d.Handled)
		}
	}
	for minor, last := range Ended {
		if v, ok := Parse(last[0]); !ok || v.Minor() != minor {
			t.Errorf("the last release of %s is %s", minor, last[0])
		}
	}
}

func TestADefectAffectsTheReleasesOfItsRange(t *testing.T) {
	defragment := Defect{From: "3.6.0", Fixed: "3.6.5"}
	for version, want := range map[string]bool{"3.6.0": true, "3.6.4": true, "3.6.4-0": true, "3.6.5": false, "3.5.4": false, "3.7.0": false, "3.6.0-rc.1": false, "latest": false} {
		if got := defragment.Affects(version); got != want {
			t.Errorf("%s: %t, want %t", version, got, want)
		}
	}
	if open := (Defect{From: "3.6.0"}); !open.Affects("3.6.99") || open.Affects("3.7.0") {
		t.Error("a defect without a fix ends with its minor version")
	}
}

// One bad line of the chart's values must not hide the others, and must not stop the operator.
func TestABadEntryOfTheListIsReportedAndTheOthersCount(t *testing.T) {
	const good = `{"from":"3.6.0","fixed":"3.6.20","effect":"members can lose data","source":"https://example.com/1"}`
	for name, test := range map[string]struct {
		text, problem string
		valid         int
	}{
		"nothing":                      {"", "", 0},
		"an empty list":                {"[]", "", 0},
		"one entry":                    {"[" + good + "]", "", 1},
		"an entry without a fix":       {`[{"from":"3.6.0","effect":"members can lose data","source":"x"}]`, "", 1},
		"no JSON":                      {"3.6.0", "read the list of defects", 0},
		"a word for a version":         {`[{"from":"latest","effect":"x","source":"x"},` + good + `]`, `entry 1 of the list of defects is left out: from is "latest"`, 1},
		"another minor version":        {"[" + good + `,{"from":"3.5.0","fixed":"3.6.1","effect":"x","source":"x"}]`, "entry 2 of the list of defects is left out: fixed is 3.6.1 and from is 3.5.0", 1},
		"a fix before the defect":      {`[{"from":"3.6.5","fixed":"3.6.1","effect":"x","source":"x"}]`, "must be a later release", 0},
		"no effect":                    {`[{"from":"3.6.5","source":"x"}]`, "effect is missing", 0},
		"no source":                    {`[{"from":"3.6.5","effect":"x"}]`, "source is missing", 0},
		"a number instead of an entry": {"[1," + good + "]", "entry 1", 1},
	} {
		valid, err := ParseDefects(test.text)
		if len(valid) != test.valid || (err == nil) != (test.problem == "") || (err != nil && !strings.Contains(err.Error(), test.problem)) {
			t.Errorf("%s: %d entries and %v, want %d and %q", name, len(valid), err, test.valid, test.problem)
		}
	}
}
