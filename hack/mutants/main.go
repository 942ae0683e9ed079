// Mutants changes the planners in one place after the other, and runs their tests. A mutant that no test finds is a rule that no test states.
//
//	go run ./hack/mutants -n 200 -seed 1
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
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
	fast := flag.Bool("fast", false, "leave the simulations out, which take minutes for each mutant that the other tests do not find")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *fast {
		for i := range planners {
			planners[i].slow, planners[i].skip = "", planners[i].slow
		}
	}
	survivors, err := test(ctx, os.Stdout, *n, *seed)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	case survivors > *n/20:
		fmt.Fprintln(os.Stderr, "mutants: more than 5 % survive")
		os.Exit(1)
	}
}

// test draws mutants until n of them compile, and returns how many of these no test finds.
func test(ctx context.Context, out io.Writer, n int, seed uint64) (survivors int, err error) {
	var all []drawn
	for _, p := range planners {
		found, err := mutantsOf(p)
		if err != nil {
			return 0, err
		}
		all = append(all, found...)
	}
	fmt.Fprintf(out, "%d mutants are possible; %d are drawn with seed %d\n", len(all), n, seed)
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(all))
	tested := 0
	for _, i := range order {
		if tested == n || ctx.Err() != nil {
			break
		}
		result, err := run(ctx, all[i])
		if err != nil {
			return survivors, err
		}
		if result == invalid {
			continue
		}
		tested++
		if result == survived {
			survivors++
		}
		fmt.Fprintf(out, "%4d %-8s %s:%d: %s\n", tested, result, all[i].file, all[i].line, all[i].mutant)
	}
	fmt.Fprintf(out, "%d of %d mutants survived\n", survivors, tested)
	return survivors, ctx.Err()
}
