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
	"maps"
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

// run prints the findings, and returns the number of errors.
func run(ctx context.Context, out io.Writer, level string, wanted []string) (int, error) {
	dir, err := os.MkdirTemp("", "prose-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	copies := map[string]copied{}
	for _, p := range parts {
		if len(wanted) > 0 && !slices.Contains(wanted, p.name) {
			continue
		}
		texts, err := p.read(".")
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", p.name, err)
		}
		written, err := write(filepath.Join(dir, p.name), texts)
		if err != nil {
			return 0, fmt.Errorf("copy %s: %w", p.name, err)
		}
		maps.Copy(copies, written)
	}
	alerts, err := vale(ctx, level, dir)
	if err != nil {
		return 0, err
	}
	found := inSources(alerts, copies)
	for _, f := range found {
		fmt.Fprintln(out, f)
	}
	return count(out, found), nil
}

// count prints the number of errors, and returns it.
func count(out io.Writer, found []finding) int {
	errors := 0
	for _, f := range found {
		if f.Severity == "error" {
			errors++
		}
	}
	fmt.Fprintf(out, "prose: %d errors\n", errors)
	return errors
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

// inSources gives the alerts the files and lines of their sources, in order.
func inSources(alerts map[string][]finding, copies map[string]copied) []finding {
	var found []finding
	for path, alerts := range alerts {
		c := copies[path]
		for _, a := range alerts {
			a.file, a.Line = c.source, c.lines[min(a.Line, len(c.lines))-1]
			found = append(found, a)
		}
	}
	slices.SortStableFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.Line, b.Line))
	})
	return found
}

// vale returns the alerts of the files below a folder, by path.
func vale(ctx context.Context, level, dir string) (map[string][]finding, error) {
	command := exec.CommandContext(ctx, "go", "tool", "-modfile=hack/tools/vale.mod", "vale",
		"--config=hack/prose/vale.ini", "--minAlertLevel="+level, "--no-exit", "--no-global", "--output=JSON", dir)
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
	return found, nil
}
