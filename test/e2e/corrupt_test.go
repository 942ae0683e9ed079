package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

const (
	// precious is the key whose value one member returns differently from what was written.
	precious = "precious"
	// corruptionOutage is how long etcd may refuse requests because of a CORRUPT alarm. The outage ends when the operator
	// has removed the member and disarmed the alarm.
	corruptionOutage = 30 * time.Second
)

var preciousValue = strings.Repeat("precious.", 8)

// replacesACorruptMember changes a value in one member's database, which stays well-formed. etcd detects the difference
// when it compares hashes after a compaction, and refuses all requests. The operator must replace the member whose hash
// differs from that of the other two.
func (n *namespaced) replacesACorruptMember(cluster string) {
	n.Helper()
	etcd := n.etcd(cluster, nil)
	n.eventuallyQuiet(func(ctx context.Context) error {
		_, err := etcd.Put(ctx, precious, preciousValue)
		return err
	})
	n.put(etcd, "later", 100) // so that etcd has flushed the page of the value to the file
	members, victim := memberIDs(n.cluster(cluster)), n.follower(cluster)
	traffic := n.traffic(cluster, nil)
	n.eventually("member "+victim+" returns a corrupt value", func(ctx context.Context) error {
		if err := n.damage(victim); err != nil {
			return err // it may have found the damage, and start again
		}
		value, err := n.valueIn(ctx, cluster, victim)
		if err == nil && value == preciousValue {
			return errors.New("it still returns the written value")
		}
		return err
	})
	began := time.Now()
	n.compact(etcd)
	n.eventually("etcd raises the CORRUPT alarm", func(ctx context.Context) error {
		response, err := etcd.AlarmList(ctx)
		if err != nil || len(response.Alarms) > 0 || n.removedAsCorrupt(ctx, victim) {
			return err
		}
		return errors.New("no alarm is raised")
	})
	n.replaced(cluster, members, victim)
	n.Logf("silent corruption: the member is replaced after %s", time.Since(began).Round(time.Second))
	n.ready(cluster)
	saw := traffic.stop("silent corruption")
	if saw.longest > corruptionOutage {
		n.Errorf("the cluster served no request for %s, the limit is %s", saw.longest, corruptionOutage)
	}
	n.membersAgree(cluster, etcd)
}

// removedAsCorrupt returns whether an event says so. The operator removes a member that runs for this cause only because
// of an alarm, and soon disarms the alarm.
func (n *namespaced) removedAsCorrupt(ctx context.Context, member string) bool {
	events, err := suite.Kubectl(ctx, "-n", n.name, "get", "events", "--field-selector=reason=ReplacingMember", "-o", "custom-columns=:.message", "--no-headers")
	return err == nil && strings.Contains(events, member+", because "+state.CorruptData)
}

// damage changes one byte of each copy of the precious value in the database of a running member. etcd maps the file
// into memory, so it reads the changed byte.
func (n *namespaced) damage(member string) error {
	process, err := processOf(member)
	if err != nil {
		return err
	}
	path := filepath.Join("/proc", strconv.Itoa(process), "root/var/etcd/data/member/snap/db")
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	for at := 0; ; at++ {
		next := bytes.Index(content[at:], []byte(preciousValue))
		if next < 0 {
			return nil
		}
		at += next
		if _, err := file.WriteAt([]byte("P"), int64(at)); err != nil {
			return err
		}
	}
}

// compact removes all history.
func (n *namespaced) compact(etcd *clientv3.Client) {
	n.Helper()
	n.eventuallyQuiet(func(ctx context.Context) error {
		response, err := etcd.Get(ctx, precious)
		if err == nil {
			_, err = etcd.Compact(ctx, response.Header.Revision)
		}
		return err
	})
}

// member returns a client of a single member. The caller closes it.
func (n *namespaced) member(cluster, name string) (*clientv3.Client, error) {
	address := "http://" + n.pods(cluster)[name].Status.PodIP + ":2379"
	return clientv3.New(clientv3.Config{Context: n.Context(), Endpoints: []string{address}, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
}

// valueIn returns the precious value from the database of a single member.
func (n *namespaced) valueIn(ctx context.Context, cluster, member string) (string, error) {
	etcd, err := n.member(cluster, member)
	if err != nil {
		return "", err
	}
	defer etcd.Close()
	response, err := etcd.Get(ctx, precious, clientv3.WithSerializable())
	if err != nil {
		return "", err
	}
	if len(response.Kvs) != 1 {
		return "", fmt.Errorf("member %s does not have the key %s", member, precious)
	}
	return string(response.Kvs[0].Value), nil
}

// membersAgree fails the test unless all members have the same data with the precious value, and no alarm is raised.
func (n *namespaced) membersAgree(cluster string, etcd *clientv3.Client) {
	n.Helper()
	var alarms *clientv3.AlarmResponse
	var newest *clientv3.GetResponse
	n.eventuallyQuiet(func(ctx context.Context) (err error) {
		if alarms, err = etcd.AlarmList(ctx); err == nil {
			newest, err = etcd.Get(ctx, precious)
		}
		return err
	})
	if len(alarms.Alarms) > 0 {
		n.Errorf("these alarms are still raised: %v", alarms.Alarms)
	}
	var hashes []string
	for name := range n.pods(cluster) {
		n.eventuallyQuiet(func(ctx context.Context) error {
			one, err := n.member(cluster, name)
			if err != nil {
				return err
			}
			defer one.Close()
			hash, err := one.HashKV(ctx, one.Endpoints()[0], newest.Header.Revision)
			if err != nil {
				return err
			}
			value, err := n.valueIn(ctx, cluster, name)
			if err != nil {
				return err
			}
			hashes = append(hashes, fmt.Sprintf("%08x, %s is %s", hash.Hash, precious, value))
			return nil
		})
	}
	slices.Sort(hashes)
	if same := slices.Compact(slices.Clone(hashes)); len(same) != 1 || !strings.HasSuffix(same[0], " "+preciousValue) {
		n.Errorf("the members do not all have the data that was written: %q", hashes)
	}
}
