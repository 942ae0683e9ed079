package etcd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	// appliedMetric is the index of the last entry that a member has applied. All versions of etcd use these names.
	appliedMetric = "etcd_server_proposals_applied_total "
	// idMetric has the ID of the member in a label.
	idMetric = `etcd_server_id{server_id="`
	// maxMetrics is a multiple of what a member answers, which is less than 1 MiB.
	maxMetrics = 16 << 20
)

// Applied returns the ID of a member, and the index of the last entry that it has applied. It reads the member's metrics at "host:port"
// over plain HTTP: a member that was started without a quorum serves its metrics, but no clients. The ID is 0 if the metrics lack it.
func Applied(ctx context.Context, address string) (id ID, index uint64, err error) {
	body, err := Get(ctx, address, "/metrics", maxMetrics)
	if err != nil {
		return 0, 0, fmt.Errorf("read metrics of %s: %w", address, err)
	}
	defer func() { _ = body.Close() }()
	id, index, err = appliedIn(body)
	if err != nil {
		return 0, 0, fmt.Errorf("read metrics of %s: %w", address, err)
	}
	return id, index, nil
}

// appliedIn reads metrics.
func appliedIn(metrics io.Reader) (id ID, index uint64, err error) {
	found := false
	lines := bufio.NewScanner(metrics)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), idMetric); ok {
			label, _, _ := strings.Cut(text, `"`)
			if id, err = ParseID(label); err != nil {
				return 0, 0, err
			}
		}
		if text, ok := strings.CutPrefix(lines.Text(), appliedMetric); ok {
			value, err := strconv.ParseFloat(text, 64)
			if err != nil || value < 0 {
				return 0, 0, fmt.Errorf("%s has the value %q", strings.TrimSpace(appliedMetric), text)
			}
			found, index = true, uint64(value)
		}
	}
	if err := lines.Err(); err != nil {
		return 0, 0, err
	}
	if !found {
		return 0, 0, fmt.Errorf("there is no %s", strings.TrimSpace(appliedMetric))
	}
	return id, index, nil
}
