// Package legible makes texts of others safe to show: in a status, an event, a log or a terminal.
package legible

import (
	"strings"
	"unicode"
)

// Hides reports whether a character could hide or change the text around it: the control characters C0 and C1, and those that set the
// direction of writing or end a line.
func Hides(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.In(r, unicode.Zl, unicode.Zp)
}

// Line returns text as one line in which each character that hides others is replaced. Line breaks and tabs become spaces.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\t':
			return ' '
		case Hides(r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// Short is Line of at most limit bytes and an ellipsis.
func Short(text string, limit int) string {
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return Line(text)
}
