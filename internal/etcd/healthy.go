package etcd

import (
	"context"
	"fmt"
	"net/http"
)

// direct uses no proxy, whatever the environment says: members are asked at the addresses of their Pods. It keeps no connections: each
// of thousands of members is asked seldom, and a connection that waits costs memory.
var direct = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// Healthy returns nil if a member has a leader and serves linearizable reads, and no alarm is on. It asks the member at "host:port"
// over plain HTTP. Do not ask etcd 3.4: it writes each such question into its log.
func Healthy(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/health", nil)
	if err != nil {
		return fmt.Errorf("check the health of %s: %w", address, err)
	}
	response, err := direct.Do(request)
	if err != nil {
		return fmt.Errorf("check the health of %s: %w", address, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("check the health of %s: HTTP status %s", address, response.Status)
	}
	return nil
}
