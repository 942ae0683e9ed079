package legible

import (
	"io"
	"strings"
	"unicode"
)

// Log returns a writer of a log in which no text of others hides or changes the text around it. An error can repeat the name of an object
// of a store. The line breaks and tabs of the log stay.
func Log(to io.Writer) io.Writer { return logWriter{to} }

type logWriter struct{ to io.Writer }

func (w logWriter) Write(p []byte) (int, error) {
	shown := strings.Map(func(r rune) rune {
		if Hides(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, string(p))
	if _, err := io.WriteString(w.to, shown); err != nil {
		return 0, err //nolint:wrapcheck // the logger knows its writer
	}
	return len(p), nil
}
