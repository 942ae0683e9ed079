package terminal

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/etcd-suite/etcd-operator/internal/legible"
)

// Printable returns a writer before a terminal. It replaces the control characters of texts that others wrote, except for line breaks and
// tabs: they could erase lines, set the title of the window or write to the clipboard. The colours of Style pass.
func Printable(out io.Writer) io.Writer {
	if _, done := out.(*printable); done || out == nil {
		return out
	}
	return &printable{out: out}
}

type printable struct {
	out  io.Writer
	rest []byte // the beginning of a character
}

func (p *printable) Write(text []byte) (int, error) {
	all := append(p.rest, text...)
	p.rest = nil
	var clean strings.Builder
	for len(all) > 0 {
		if !utf8.FullRune(all) {
			p.rest = append([]byte(nil), all...)
			break
		}
		if colour := colourAt(all); colour != "" {
			clean.WriteString(colour)
			all = all[len(colour):]
			continue
		}
		r, size := utf8.DecodeRune(all)
		clean.WriteRune(shown(r))
		all = all[size:]
	}
	if _, err := io.WriteString(p.out, clean.String()); err != nil {
		return 0, err
	}
	return len(text), nil
}

func colourAt(text []byte) string {
	for _, colour := range []string{Red, Green, Yellow, reset} {
		if len(text) >= len(colour) && string(text[:len(colour)]) == colour {
			return colour
		}
	}
	return ""
}

// shown returns a character as it is printed. Control characters include C1. Some that set the direction of writing hide text.
func shown(r rune) rune {
	switch {
	case r == '\n', r == '\t':
		return r
	case legible.Hides(r):
		return unicode.ReplacementChar
	}
	return r
}
