package session

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// errNotAccepted is the result of a command that asked, and whose user did not write yes. That is no error: the user decided.
var errNotAccepted = errors.New("the answer was not yes. Nothing was changed. Run the command again to continue")

// endsWithCommand is a text whose last words are a command or an address to copy. A full stop would be copied with it.
var endsWithCommand = regexp.MustCompile(`: kubectl [^.]*$|https://\S*[^.\s]$`)

// Message returns what the program prints for the result of a command: sentences, and "Error:" only if something failed.
func Message(ctx context.Context, err error, width int) string {
	text := err.Error()
	if !strings.HasSuffix(text, ".") && !endsWithCommand.MatchString(text) {
		text += "."
	}
	if errors.Is(err, errNotAccepted) || ctx.Err() != nil {
		first, size := utf8.DecodeRuneInString(text)
		text = string(unicode.ToUpper(first)) + text[size:]
	} else {
		text = "Error: " + text
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, terminal.Wrap(line, width, 0))
	}
	return strings.Join(lines, "\n")
}
