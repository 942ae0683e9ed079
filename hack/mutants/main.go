// Mutants changes the planners in one place after the other, and runs their tests. A mutant that no test finds is a rule that no test states.
//
//	go run ./hack/mutants -n 200 -seed 1
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

var planners = []planner{
	{folders: []string{"internal/cluster/plan"}, without: "internal/cluster/plan/sim", tests: "./internal/cluster/plan/...", slow: simulations},
	{folders: []string{"internal/backup/plan"}, tests: "./internal/backup/plan/"},
	{folders: []string{"internal/restore/plan"}, tests: "./internal/restore/plan/"},
	{folders: []string{"internal/restore/state", "internal/restore/steps"}, tests: "./internal/restore/plan/"},
}

// simulations are those of the Makefile.
const simulations = "Settles$|BreakNothing$|NobodyIs$|SaysWhatToDo$|OfYears$|DoesNotTrust$|ChangeAMinute$|ThatMayRun$|Interleaving|CA$|ARotation$|OfCertManager$|IssuerChanges$|ForEver$|OthersSign$|TakenBack$|OnlyCopy|AsTheyAre$|ExpiredOne$|Expired$|InTime$|LeftAlone$|TheRecovery$|IsReplaced$|AreRare$|LessOften$|AllReplaced$|RunLonger$|IsCreated$|FromTheSpec$|IsKept$"

func main() {
	n := flag.Int("n", 200, "how many mutants")
	seed := flag.Uint64("seed", 1, "which mutants are drawn")
	only := flag.String("only", "", "test only the mutants with these numbers, for example 3,17")
	fast := flag.Bool("fast", false, "leave the simulations out, which take minutes for each mutant that the other tests do not find")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *fast {
		for i := range planners {
			planners[i].slow, planners[i].skip = "", planners[i].slow
		}
	}
	survivors, err := test(ctx, os.Stdout, *n, *seed, *only)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	case survivors > *n/20:
		fmt.Fprintln(os.Stderr, "mutants: more than 5 % survive")
		os.Exit(1)
	}
}

// test draws mutants until n of them compile, and returns how many of these no test finds. All are compiled into the tests at once, and turned on one after
// the other, because compilers and linkers would otherwise take minutes for each.
func test(ctx context.Context, out io.Writer, n int, seed uint64, only string) (survivors int, err error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	mutants, list, err := draw(ctx, out, dir, n, seed)
	if err != nil {
		return 0, err
	}
	suites := map[string][]unit{}
	tested := 0
	for _, number := range slices.Sorted(maps.Keys(mutants)) {
		if only != "" && !slices.Contains(strings.Split(only, ","), strconv.Itoa(number)) {
			continue
		}
		d := mutants[number]
		tests, known := suites[d.planner.tests]
		if !known {
			if tests, err = suite(ctx, d.planner, filepath.Join(dir, strconv.Itoa(len(suites))), list); err != nil {
				return survivors, err
			}
			suites[d.planner.tests] = tests
		}
		name, slow, err := killer(ctx, number, tests)
		if err != nil {
			return survivors, err
		}
		tested++
		result := "killed"
		switch {
		case name == "":
			result = "survived"
			survivors++
		case slow:
			result = "killed by the simulation"
		}
		fmt.Fprintf(out, "%4d %s %s:%d: %s %s\n", number, result, d.file, d.line, d.mutant, name)
	}
	fmt.Fprintf(out, "%d of %d mutants survived\n", survivors, tested)
	return survivors, nil
}

// draw returns n mutants that compile, by their numbers, and the path of the overlay that has them.
func draw(ctx context.Context, out io.Writer, dir string, n int, seed uint64) (map[int]drawn, string, error) {
	var all []drawn
	for _, p := range planners {
		found, err := mutantsOf(p)
		if err != nil {
			return nil, "", err
		}
		all = append(all, found...)
	}
	fmt.Fprintf(out, "%d mutants are possible; %d are drawn with seed %d\n", len(all), n, seed)
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(all))
	mutants, refused := map[int]drawn{}, 0
	for next := 0; ; {
		for ; len(mutants) < n && next < len(order); next++ {
			mutants[next+1] = all[order[next]]
		}
		list, err := overlay(dir, mutants)
		if err != nil {
			return nil, "", err
		}
		bad, err := compile(ctx, list, mutants)
		if err != nil {
			return nil, "", err
		}
		if len(bad) == 0 {
			fmt.Fprintf(out, "that the compiler refused and others replaced: %d\n", refused)
			return mutants, list, nil
		}
		refused += len(bad)
		for _, number := range bad {
			delete(mutants, number)
		}
	}
}
