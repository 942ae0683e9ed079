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
