package terminal

// A Style decides how reports are printed.
type Style struct {
	Color bool
	Wide  bool
	// Width is the length at which lines of text are wrapped. The value 0 wraps none.
	Width int
}

// Codes of a terminal.
const (
	Red    = "\x1b[31m"
	Green  = "\x1b[32m"
	Yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

func (s Style) Paint(color, text string) string {
	if !s.Color {
		return text
	}
	return color + text + reset
}
