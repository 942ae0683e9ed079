package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/hack/mutants/on"
)

// unit is a test of a planner, with what is known from a run without a mutant.
type unit struct {
	program, folder, name string
	slow                  bool
	takes                 time.Duration
	reaches               map[int]bool
}

// suite compiles the tests of a planner with all mutants, and runs each test once without one.
func suite(ctx context.Context, p planner, dir, list string) (all []unit, err error) {
	if out, err := gotool(ctx, []string{"test", "-c", "-overlay", list, "-vet=off", "-o", dir + string(filepath.Separator), p.tests}); err != nil {
		return nil, fmt.Errorf("compile the tests of %s: %w\n%s", p.tests, err, out)
	}
	folders, err := gotool(ctx, []string{"list", "-f", `{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}`, p.tests})
	if err != nil {
		return nil, fmt.Errorf("list the folders of %s: %w\n%s", p.tests, err, folders)
	}
	for folder := range strings.FieldsSeq(folders) {
		program := filepath.Join(dir, filepath.Base(folder)+".test")
		names, err := started(ctx, program, folder, "-test.list", "^Test").Output()
		if err != nil {
			return nil, fmt.Errorf("list the tests of %s: %w", folder, err)
		}
		for name := range strings.FieldsSeq(string(names)) {
			u := unit{program: program, folder: folder, name: name, slow: p.slow != "" && regexp.MustCompile(p.slow).MatchString(name)}
			if p.skip != "" && regexp.MustCompile(p.skip).MatchString(name) {
				continue
			}
			if err := u.measure(ctx, filepath.Join(dir, "reached")); err != nil {
				return nil, err
			}
			all = append(all, u)
		}
	}
	slices.SortFunc(all, func(a, b unit) int { return cmp.Compare(a.takes, b.takes) })
	return all, nil
}

// measure runs the test without a mutant. Rules are reached by all tests, because the list of rules is made when a program starts.
func (u *unit) measure(ctx context.Context, file string) error {
	if err := os.RemoveAll(file); err != nil {
		return err
	}
	command := started(ctx, u.program, u.folder, flagsFor([]unit{*u})...)
	command.Env = append(os.Environ(), on.Reached+"="+file)
	begin := time.Now()
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s of %s fails without a mutant: %w\n%s", u.name, u.folder, err, out)
	}
	u.takes, u.reaches = time.Since(begin), map[int]bool{}
	content, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for number := range strings.FieldsSeq(string(content)) {
		n, err := strconv.Atoi(number)
		if err != nil {
			return fmt.Errorf("read what %s reaches: %w", u.name, err)
		}
		u.reaches[n] = true
	}
	return nil
}

func started(ctx context.Context, program, folder string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, program, args...)
	command.Dir = folder
	return command
}

// flagsFor returns the flags that run tests of one program. A mutant that loops is ended long after the tests should have passed.
func flagsFor(tests []unit) []string {
	names, limit := make([]string, len(tests)), time.Minute
	for i, u := range tests {
		names[i] = u.name
		limit += 20 * u.takes
	}
	if tests[0].takes == 0 {
		limit = time.Hour
	}
	return []string{"-test.short", "-test.failfast", "-test.timeout", limit.String(), "-test.run", "^(" + strings.Join(names, "|") + ")$"}
}

var failure = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// killer returns the test that fails with the mutant, or an empty text. Tests that take little time run first, and the slow ones last.
func killer(ctx context.Context, number int, tests []unit) (string, bool, error) {
	for _, slow := range []bool{false, true} {
		budget := time.Second / 2
		var chosen []unit
		for _, u := range tests {
			if u.slow == slow && u.reaches[number] {
				chosen = append(chosen, u)
			}
		}
		for len(chosen) > 0 {
			var takes time.Duration
			few := 0
			for few < len(chosen) && (few == 0 || takes+chosen[few].takes <= budget) {
				takes += chosen[few].takes
				few++
			}
			name, err := fails(ctx, number, chosen[:few])
			if name != "" || err != nil {
				return name, slow, err
			}
			chosen, budget = chosen[few:], 2*budget
		}
	}
	return "", false, nil
}

// fails runs tests with a mutant, those of a program at the same time.
func fails(ctx context.Context, number int, tests []unit) (string, error) {
	of := map[string][]unit{}
	for _, u := range tests {
		of[u.program] = append(of[u.program], u)
	}
	for program, these := range of {
		command := started(ctx, program, these[0].folder, flagsFor(these)...)
		command.Env = append(os.Environ(), on.Number+"="+strconv.Itoa(number))
		out, err := command.CombinedOutput()
		switch exit := (*exec.ExitError)(nil); {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err == nil:
			continue
		case !errors.As(err, &exit):
			return "", fmt.Errorf("run %s: %w", program, err)
		}
		if name := failure.FindSubmatch(out); name != nil {
			return string(name[1]), nil
		}
		return "a program that ended", nil
	}
	return "", nil
}
