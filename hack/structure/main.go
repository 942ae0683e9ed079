// Structure prints how the files of each package use each other. It informs, and forbids nothing: only the number of methods of a type has a limit,
// which a test of this package checks.
//
//	go run . ../.. ./internal/... ./cmd/... ./api/...
package main

import (
	"fmt"
	"io"
	"os"
	"text/tabwriter"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: go run . FOLDER PATTERN...")
		os.Exit(1)
	}
	tables, err := measure(os.Args[1], os.Args[2:]...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "structure:", err)
		os.Exit(1)
	}
	if err := write(os.Stdout, tables); err != nil {
		fmt.Fprintln(os.Stderr, "structure:", err)
		os.Exit(1)
	}
}

const explanation = `An arrow says that a file uses what another file of its package declares. It runs up if it is against the order of files in
which the fewest arrows do. A circle is a set of files, each of which reaches each other one by arrows.
`

func write(w io.Writer, tables []table) error {
	if _, err := fmt.Fprint(w, explanation+"\n"); err != nil {
		return err
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "package\tfiles\tlines\tarrows\tup\tup of arrows\tlargest circle\tmost methods")
	for _, t := range tables {
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%s\t%d\t%s\n", t.name, t.files, t.lines, t.arrows, t.up, percent(t.up, t.arrows), t.circle, t.most)
	}
	return out.Flush()
}

func percent(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(whole))
}
