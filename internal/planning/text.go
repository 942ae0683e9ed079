package planning

import (
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/legible"
)

// MaxNote is how many bytes of a text an Event's Note may have. events.k8s.io/v1 refuses more than 1 kB.
const MaxNote = 1000

// Shorten returns text as it is if it has at most limit bytes. Otherwise it cuts the text between two characters and
// adds an ellipsis. Messages contain the answers of servers, which can be long.
func Shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// Quote returns what a server answered as one line of at most limit bytes, without control characters.
func Quote(text string, limit int) string {
	printable := strings.Map(func(r rune) rune {
		if legible.Hides(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	return Shorten(strings.Join(strings.Fields(printable), " "), limit)
}

// Sentence makes a sentence of an error or of another text, which may be empty: it starts with intro and ends with one full stop.
func Sentence(intro, text string) string {
	return strings.TrimRight(intro+text, ". \n") + "."
}
