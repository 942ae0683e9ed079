package main

import (
	"maps"
	"slices"
)

// graph has, for each file, the files that it uses.
type graph map[string]map[string]bool

func (g graph) arrows() int {
	n := 0
	for _, used := range g {
		n += len(used)
	}
	return n
}

// circles are the strongly connected components (Tarjan, Depth-first search and linear graph algorithms, 1972).
func (g graph) circles() [][]string {
	var (
		all       [][]string
		stack     []string
		index     = map[string]int{}
		low       = map[string]int{}
		onStack   = map[string]bool{}
		visitFile func(string)
	)
	visitFile = func(file string) {
		index[file] = len(index) + 1
		low[file] = index[file]
		stack, onStack[file] = append(stack, file), true
		for _, used := range slices.Sorted(maps.Keys(g[file])) {
			if index[used] == 0 {
				visitFile(used)
				low[file] = min(low[file], low[used])
			} else if onStack[used] {
				low[file] = min(low[file], index[used])
			}
		}
		if low[file] != index[file] {
			return
		}
		from := slices.Index(stack, file)
		circle := slices.Clone(stack[from:])
		stack = stack[:from]
		for _, member := range circle {
			onStack[member] = false
		}
		all = append(all, circle)
	}
	for _, file := range slices.Sorted(maps.Keys(g)) {
		if index[file] == 0 {
			visitFile(file)
		}
	}
	return all
}

func (g graph) largestCircle() int {
	largest := 0
	for _, circle := range g.circles() {
		largest = max(largest, len(circle))
	}
	return largest
}

// up is the number of arrows against the order of files that has the fewest. To find that order is hard (it is the feedback arc set), so it
// is searched for: each file of a circle moves to its best place until no move helps.
func (g graph) up() int {
	n := 0
	for _, circle := range g.circles() {
		n += g.against(g.order(circle))
	}
	return n
}

// order begins with the files that use much and are used little (Eades, Lin and Smyth, A fast and effective heuristic for the feedback arc
// set problem, 1993).
func (g graph) order(circle []string) []string {
	surplus := func(file string) int {
		n := 0
		for _, other := range circle {
			n += weight(g[file][other]) - weight(g[other][file])
		}
		return n
	}
	order := slices.SortedFunc(slices.Values(circle), func(a, b string) int { return surplus(b) - surplus(a) })
	for improved := true; improved; {
		improved = false
		for _, file := range slices.Clone(order) {
			improved = g.move(order, file) || improved
		}
	}
	return order
}

// move puts a file of the order where it has the fewest arrows against it, and says whether that is better than before.
func (g graph) move(order []string, file string) bool {
	at := slices.Index(order, file)
	best, gain := at, 0
	for step, total := 1, 0; at+step < len(order); step++ { // further down: what it passes must not be used by it
		passed := order[at+step]
		total += weight(g[passed][file]) - weight(g[file][passed])
		if total > gain {
			best, gain = at+step, total
		}
	}
	for step, total := 1, 0; at-step >= 0; step++ {
		passed := order[at-step]
		total += weight(g[file][passed]) - weight(g[passed][file])
		if total > gain {
			best, gain = at-step, total
		}
	}
	if gain == 0 {
		return false
	}
	copy(order, slices.Insert(slices.Delete(slices.Clone(order), at, at+1), best, file))
	return true
}

// against counts the arrows from a file to one before it.
func (g graph) against(order []string) int {
	n := 0
	for i, file := range order {
		for _, before := range order[:i] {
			n += weight(g[file][before])
		}
	}
	return n
}

func weight(arrow bool) int {
	if arrow {
		return 1
	}
	return 0
}
