// Package scale measures cluster-operator with many EtcdClusters. It is not part of the tests: run make bench-scale.
package scale

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// othersLimit is the part of the CPUs that other programs may use.
const othersLimit = 0.10

// busy measures the use of the CPUs by programs that this one did not start.
type busy struct {
	begin                 time.Time
	all, idle, ours, cpus float64
}

func startBusy() busy {
	b := busy{begin: time.Now(), ours: family()}
	b.all, b.idle, b.cpus = machine()
	return b
}

// others is the part of the CPUs that other programs have used since the start. Processes of ours that have ended since count as
// others only with what they used in that time.
func (b busy) others() float64 {
	all, idle, _ := machine()
	total := all - b.all
	if total <= 0 {
		return 0
	}
	return max(0, (total-(idle-b.idle)-(family()-b.ours))/total)
}

// machine reads the ticks of all CPUs, those in which they were idle, and the number of CPUs.
func machine() (all, idle, cpus float64) {
	content, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, 1
	}
	for line := range strings.SplitSeq(string(content), "\n") {
		fields := strings.Fields(line)
		if len(fields) < 6 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		if fields[0] != "cpu" {
			cpus++
			continue
		}
		for i, field := range fields[1:min(len(fields), 9)] { // guest time is part of user time
			ticks, _ := strconv.ParseFloat(field, 64)
			all += ticks
			if i == 3 || i == 4 { // idle, and waiting for a disk
				idle += ticks
			}
		}
	}
	return all, idle, cpus
}

// family reads the ticks of this process and all that it started, directly or not, with those of children that have ended.
func family() (ticks float64) {
	parents, used := map[int]int{}, map[int]float64{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		content, err := os.ReadFile(stat)
		if err != nil {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
		_, after, _ := strings.Cut(string(content), ") ")
		fields := strings.Fields(after)
		const parent, first, last = 1, 11, 14 // proc(5): user and kernel time, and that of children that have ended
		if len(fields) <= last {
			continue
		}
		parents[pid], _ = strconv.Atoi(fields[parent])
		for _, field := range fields[first : last+1] {
			n, _ := strconv.ParseFloat(field, 64)
			used[pid] += n
		}
	}
	for pid := range parents {
		for up := pid; up > 1; up = parents[up] {
			if up == os.Getpid() {
				ticks += used[pid]
				break
			}
		}
	}
	return ticks
}
