package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const packageOn = "github.com/etcd-suite/etcd-operator/hack/mutants/on"

// weave returns a file with mutants, all of them turned off, and with the same lines.
func weave(content []byte, mutants map[int]mutant) []byte {
	type numbered struct {
		piece
		mutant
		number int
	}
	var all []numbered
	for number, m := range mutants {
		for _, p := range m.woven {
			all = append(all, numbered{p, m, number})
		}
	}
	slices.SortFunc(all, func(a, b numbered) int {
		switch {
		case a.start != b.start:
			return cmp.Compare(a.start, b.start)
		case a.after != b.after && a.after:
			return -1
		case a.after != b.after:
			return 1
		case a.after:
			return -inside(a.mutant, b.mutant, a.number, b.number)
		}
		return inside(a.mutant, b.mutant, a.number, b.number)
	})
	name := regexp.MustCompile(`(?m)^package \w+`).FindIndex(content)
	var out bytes.Buffer
	out.Write(content[:name[1]])
	fmt.Fprintf(&out, "; import mutantsOn %q", packageOn)
	at := name[1]
	for _, p := range all {
		out.Write(content[at:p.start])
		out.WriteString(strings.ReplaceAll(p.text, "%d", strconv.Itoa(p.number)))
		at = p.end
	}
	out.Write(content[at:])
	return out.Bytes()
}

// inside is positive if the expression of a is in that of b. An operator is in all other mutants of its expression.
func inside(a, b mutant, numberA, numberB int) int {
	size := func(m mutant) int { return m.woven[1].start - m.woven[0].start }
	return cmp.Or(cmp.Compare(size(b), size(a)), cmp.Compare(len(a.woven), len(b.woven)), cmp.Compare(numberA, numberB))
}

// overlay writes the files with the mutants, and returns the path of what go build -overlay reads.
func overlay(dir string, mutants map[int]drawn) (string, error) {
	files := map[string]map[int]mutant{}
	for number, d := range mutants {
		if files[d.file] == nil {
			files[d.file] = map[int]mutant{}
		}
		files[d.file][number] = d.mutant
	}
	replace := map[string]string{}
	for file, of := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		original, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		replace[original] = filepath.Join(dir, flat(file))
		if err := os.WriteFile(replace[original], weave(content, of), 0o600); err != nil {
			return "", err
		}
	}
	path := filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	return path, errors.Join(err, os.WriteFile(path, list, 0o600))
}

// flat is the name of a woven file.
func flat(file string) string {
	return strings.ReplaceAll(file, string(filepath.Separator), "_")
}

var refusal = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: `)

// compile compiles the packages with the mutants, and returns the numbers of those that the compiler refuses, for example because two texts cannot be subtracted.
func compile(ctx context.Context, list string, mutants map[int]drawn) (refused []int, err error) {
	packages := map[string]bool{}
	for _, d := range mutants {
		packages["./"+filepath.ToSlash(filepath.Dir(d.file))] = true
	}
	out, err := gotool(ctx, append([]string{"build", "-overlay", list}, slices.Sorted(maps.Keys(packages))...))
	if err == nil {
		return nil, nil
	}
	for _, at := range refusal.FindAllStringSubmatch(out, -1) {
		for number, d := range mutants {
			if filepath.Base(at[1]) == flat(d.file) && at[2] == strconv.Itoa(d.line) && !slices.Contains(refused, number) {
				refused = append(refused, number)
			}
		}
	}
	if len(refused) == 0 {
		return nil, fmt.Errorf("compile the planners with the mutants: %w\n%s", err, out)
	}
	return refused, nil
}

func gotool(ctx context.Context, args []string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
	return string(out), err
}
