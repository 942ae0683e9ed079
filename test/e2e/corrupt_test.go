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
)

const (
	// precious is the key that one member gives another value of than was written.
	precious = "precious"
	// refusesAtMost is how long etcd may refuse requests because of a CORRUPT alarm, until a member is removed and the
	// alarm disarmed.
	refusesAtMost = 30 * time.Second
)

var preciousValue = strings.Repeat("precious.", 8)

// changedInSilence has one member's disk change a value, in a database that is as valid as before. etcd finds it when
// it compares what a compaction leaves, and refuses all requests; the member on which two do not agree is replaced.
func (n *namespaced) changedInSilence(cluster string) {
	n.Helper()
	etcd := n.etcd(cluster, nil)
	n.eventuallyQuiet(func(ctx context.Context) error {
		_, err := etcd.Put(ctx, precious, preciousValue)
		return err
	})
	n.put(etcd, "later", 100) // so that its page is one that etcd has written for good
	members, victim := memberIDs(n.cluster(cluster)), n.follower(cluster)
	traffic := n.traffic(cluster, nil)
	n.eventually("member "+victim+" gives another value", func(ctx context.Context) error {
		n.damage(victim)
		value, err := n.valueIn(ctx, cluster, victim)
		if err == nil && value == preciousValue {
			return errors.New("it gives what was written")
		}
		return err
	})
	began := time.Now()
	n.compact(etcd)
	n.eventually("etcd raises the alarm", func(ctx context.Context) error {
		response, err := etcd.AlarmList(ctx)
		if err == nil && len(response.Alarms) == 0 {
			return errors.New("no alarm")
		}
		return err
	})
	n.replaced(cluster, members, victim)
	n.Logf("a value changed in silence: its member is replaced after %s", time.Since(began).Round(time.Second))
	n.ready(cluster)
	saw := traffic.stop("a value that changed in silence")
	if saw.longest > refusesAtMost {
		n.Errorf("nothing was served for %s, at most %s may be", saw.longest, refusesAtMost)
	}
	n.allTheSame(cluster, etcd)
}

// damage changes one byte of the precious value wherever it stands in the database of a member that runs. It has the
// file mapped, so it reads what is written.
func (n *namespaced) damage(member string) {
	n.Helper()
	path := filepath.Join("/proc", strconv.Itoa(n.process(member)), "root/var/etcd/data/member/snap/db")
	content, err := os.ReadFile(path)
	if err != nil {
		n.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		n.Fatal(err)
	}
	defer file.Close()
	for at := 0; ; at++ {
		next := bytes.Index(content[at:], []byte(preciousValue))
		if next < 0 {
			return
		}
		at += next
		if _, err := file.WriteAt([]byte("P"), int64(at)); err != nil {
			n.Fatal(err)
		}
	}
}

// compact forgets all history.
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

// member is a client of one member alone, to be closed.
func (n *namespaced) member(cluster, name string) (*clientv3.Client, error) {
	address := "http://" + n.pods(cluster)[name].Status.PodIP + ":2379"
	return clientv3.New(clientv3.Config{Context: n.Context(), Endpoints: []string{address}, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
}

// valueIn is the precious value as one member has it, whatever the others say.
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
		return "", errors.New("the key is not there")
	}
	return string(response.Kvs[0].Value), nil
}

// allTheSame fails the test unless all members have the same data, the precious value among it, and no alarm is on.
func (n *namespaced) allTheSame(cluster string, etcd *clientv3.Client) {
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
		n.Errorf("alarms are on: %v", alarms.Alarms)
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
			hashes = append(hashes, fmt.Sprintf("%08x, %s is %s", hash.Hash, precious, value))
			return err
		})
	}
	slices.Sort(hashes)
	if same := slices.Compact(slices.Clone(hashes)); len(same) != 1 || !strings.HasSuffix(same[0], " "+preciousValue) {
		n.Errorf("members have other data than each other, or than was written: %q", hashes)
	}
}
