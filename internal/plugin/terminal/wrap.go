package terminal

import (
	"strings"

	"github.com/mitchellh/go-wordwrap"
)

// LabelWidth is the number of characters before the text of the first lines of a status: "Problem: ".
const LabelWidth = 9

// Wrap breaks a line that is longer than width between its words. The lines after the first begin with indent spaces. A width of 0 changes
// nothing: scripts and tests read whole lines.
func Wrap(line string, width, indent int) string {
	if width <= indent || len(line) <= width {
		return line
	}
	rest := wordwrap.WrapString(line[indent:], uint(width-indent))
	return line[:indent] + strings.ReplaceAll(rest, "\n", "\n"+strings.Repeat(" ", indent))
}
