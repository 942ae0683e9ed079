// Command prose checks the project's texts against plain technical English (styles/Plain) with Vale:
//
//	go run ./hack/prose [-level error|warning|suggestion] [docs] [chart] [api] [messages]
//
// Without a part it checks all four. It fails if it finds an error; suggestions are for the writer to judge.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	level := flag.String("level", "error", "lowest level that is shown: error, warning or suggestion")
	flag.Parse()
	errors, err := run(ctx, os.Stdout, *level, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(2)
	}
	if errors > 0 {
		os.Exit(1)
	}
}

// run prints the findings of every part and a count for each, and returns the number of errors.
func run(ctx context.Context, out io.Writer, level string, wanted []string) (int, error) {
	dir, err := os.MkdirTemp("", "prose-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	errors := 0
	for _, p := range parts {
		if len(wanted) > 0 && !slices.Contains(wanted, p.name) {
			continue
		}
		found, err := check(ctx, dir, level, p)
		if err != nil {
			return 0, fmt.Errorf("check %s: %w", p.name, err)
		}
		count := 0
		for _, f := range found {
			fmt.Fprintln(out, f)
			if f.Severity == "error" {
				count++
			}
		}
		fmt.Fprintf(out, "prose: %s: %d errors\n", p.name, count)
		errors += count
	}
	return errors, nil
}

// finding is one alert of Vale, in the words of its JSON.
type finding struct {
	file                            string
	Line                            int
	Check, Message, Match, Severity string
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s [%s]", f.file, f.Line, f.Severity, f.Message, f.Check)
}

// check gives Vale the texts of a part, one Markdown file for each source, and returns its findings in the lines
// of the sources.
func check(ctx context.Context, dir, level string, p part) ([]finding, error) {
	texts, err := p.read(".")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, p.name+".md")
	lines, err := write(file, texts)
	if err != nil {
		return nil, err
	}
	alerts, err := vale(ctx, level, file)
	if err != nil {
		return nil, err
	}
	for i, a := range alerts {
		at := lines[min(a.Line, len(lines))-1]
		alerts[i].file, alerts[i].Line = at.file, at.line
	}
	slices.SortStableFunc(alerts, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.Line, b.Line))
	})
	return alerts, nil
}

func vale(ctx context.Context, level, file string) ([]finding, error) {
	command := exec.CommandContext(ctx, "go", "tool", "-modfile=hack/tools/vale.mod", "vale",
		"--config=hack/prose/vale.ini", "--minAlertLevel="+level, "--no-exit", "--no-global", "--output=JSON", file)
	// Vale parses code with C libraries.
	command.Env = append(os.Environ(), "CGO_ENABLED=1")
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("run vale: %w", err)
	}
	var found map[string][]finding
	if err := json.Unmarshal(output, &found); err != nil {
		return nil, fmt.Errorf("read what vale printed: %w: %s", err, output)
	}
	return found[file], nil
}
