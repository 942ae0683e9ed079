package etcd

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// appliedMetric is the index of the last entry that a member has applied. All versions of etcd use this name.
const appliedMetric = "etcd_server_proposals_applied_total "

// Applied returns the index of the last entry that a member has applied. It reads the member's metrics at "host:port"
// over plain HTTP: a member that was started without a quorum serves its metrics, but no clients.
func Applied(ctx context.Context, address string) (uint64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return 0, fmt.Errorf("read metrics of %s: %w", address, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("read metrics of %s: %w", address, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("read metrics of %s: HTTP status %s", address, response.Status)
	}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), appliedMetric); ok {
			value, err := strconv.ParseFloat(text, 64)
			if err != nil || value < 0 {
				return 0, fmt.Errorf("read metrics of %s: %s has the value %q", address, strings.TrimSpace(appliedMetric), text)
			}
			return uint64(value), nil
		}
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("read metrics of %s: %w", address, err)
	}
	return 0, fmt.Errorf("read metrics of %s: there is no %s", address, strings.TrimSpace(appliedMetric))
}
