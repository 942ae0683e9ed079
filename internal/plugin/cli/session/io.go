package session

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// IO is what a command reads and writes.
type IO struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	// Terminal means that a person can answer a question and that lines can be rewritten.
	Terminal bool
	Color    bool
	// Width is the length at which lines of text are wrapped. The value 0 wraps none.
	Width int
	Now   func() time.Time
}

// The width of text. A very long line is hard to read, even on a terminal that has the room.
const (
	defaultWidth = 100
	leastWidth   = 60
	mostWidth    = 120
)

// System returns the standard streams. There is colour only on a terminal, and none if NO_COLOR is set.
func System() IO {
	terminal := term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
	color := term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Terminal: terminal, Color: color, Width: width(), Now: time.Now}
}

func width() int {
	columns, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || columns == 0 {
		return defaultWidth
	}
	return min(max(columns, leastWidth), mostWidth)
}
