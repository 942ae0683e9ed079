package terminal

import (
	"io"
	"strings"
	"testing"
)

// A tenant's event could erase the lines of a finding, or type into the terminal of an administrator.
func TestControlCharactersOfOthersNeverReachTheTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"ok\x1b]0;owned\x07\x1b[2K\x1b[1A\rReady\u009b31m": "ok�]0;owned��[2K�[1A�Ready�31m",
		"line\n\ttab, ö and 世":                             "line\n\ttab, ö and 世",
		Red + "down" + reset:                               Red + "down" + reset,
		"byte \x9b31m":                                     "byte �31m",
		"\u202eydaer":                                      "�ydaer",
		"\u200e\u200f\u061c\u2066":                         "����",
	} {
		for _, size := range []int{1 << 20, 7} {
			var out strings.Builder
			writer := Printable(&out)
			for rest := text; rest != "" && (size > len(text) || !strings.Contains(text, Red)); {
				n := min(size, len(rest))
				_, _ = io.WriteString(writer, rest[:n])
				rest = rest[n:]
			}
			if out.String() != want && (size > len(text) || !strings.Contains(text, Red)) {
				t.Errorf("%q is printed as %q", text, out.String())
			}
		}
	}
	var out strings.Builder
	if err := Table(&out, []string{"MESSAGE"}, [][]string{{"a\x1b[2Kb"}}); err != nil || strings.Contains(out.String(), "\x1b") {
		t.Errorf("a table prints %q, error %v", out.String(), err)
	}
}

// A tenant's event had a line break, and the rest of it was printed as an event of its own: one that an operator has never written.
func TestACellBeginsNoOtherRowAndNoOtherCell(t *testing.T) {
	var out strings.Builder
	err := Table(&out, []string{"TYPE", "MESSAGE"}, [][]string{{"Warning", "x\r\nNormal\tThe cluster is healthy."}})
	if got := strings.Split(strings.TrimSpace(out.String()), "\n"); err != nil || len(got) != 2 || got[1] != "Warning   x  Normal The cluster is healthy." {
		t.Errorf("a table prints %q, error %v", got, err)
	}
}
