package killer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// precious is a key of which one member comes to give another value than was written.
const precious = "precious"

var preciousValue = strings.Repeat("precious.", 8)

// damage has a member's disk change a value, in a database that is as valid as before.
func (b *bench) damage(member v1beta2.MemberStatus) {
	b.Helper()
	b.everywhere("kv/put", map[string]any{"key": []byte(precious), "value": []byte(preciousValue)})
	for i := range 100 { // so that its page is one that etcd has written for good
		b.everywhere("kv/put", map[string]any{"key": []byte("later-" + strconv.Itoa(i)), "value": []byte(filling[:100])})
	}
	claims := b.claims()
	claim := slices.IndexFunc(claims, func(c corev1.PersistentVolumeClaim) bool { return c.Name == member.Name })
	path := filepath.Join(b.pods.ClaimDir(&claims[claim]), "data/member/snap/db")
	b.traffic.still(func() {
		kubetest.Eventually(b, "member "+member.Name+" gives another value", func(ctx context.Context) error {
			if err := overwrite(path, preciousValue, "P"); err != nil {
				return err
			}
			if value, err := b.valueIn(ctx, member.Name); err != nil || value == preciousValue {
				return fmt.Errorf("it gives %q: %w", value, err)
			}
			return nil
		})
	})
}

// overwrite the begin of a text wherever it stands in a file. etcd has its database mapped, and reads what is written.
func overwrite(path, text, with string) error {
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
		next := bytes.Index(content[at:], []byte(text))
		if next < 0 {
			return nil
		}
		at += next
		if _, err := file.WriteAt([]byte(with), int64(at)); err != nil {
			return err
		}
	}
}

// valueIn is the precious value as one member has it, whatever the others say.
func (b *bench) valueIn(ctx context.Context, member string) (string, error) {
	for _, pod := range b.list() {
		if pod.Name != member {
			continue
		}
		var answer struct{ Kvs []struct{ Value []byte } }
		err := b.traffic.post(ctx, pod, "kv/range", map[string]any{"key": []byte(precious), "serializable": true}, &answer)
		if err != nil || len(answer.Kvs) != 1 {
			return "", fmt.Errorf("%d values: %w", len(answer.Kvs), err)
		}
		return string(answer.Kvs[0].Value), nil
	}
	return "", errors.New("it has no Pod")
}

// ask one member.
func (b *bench) ask(pod corev1.Pod, do func(*etcd.Client) error) error {
	address := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(v1beta2.ClientPort)))
	connection, err := etcd.Open(etcd.Endpoint{URL: "http://" + address, Address: address}, nil)
	if err != nil {
		return err
	}
	defer connection.Close()
	return do(connection)
}

// leader is the member that says that it leads.
func (b *bench) leader() (leader v1beta2.MemberStatus) {
	b.Helper()
	kubetest.Eventually(b, "a member leads", func(ctx context.Context) error {
		for _, pod := range b.list() {
			err := b.ask(pod, func(member *etcd.Client) error {
				status, err := member.Status(ctx)
				if err == nil && status.Leader() {
					leader = v1beta2.MemberStatus{Name: pod.Name, ID: status.MemberID.String()}
				}
				return err
			})
			if err != nil || leader.Name != "" {
				return err
			}
		}
		return errors.New("none says so")
	})
	return leader
}

// alarms is how many are on.
func (b *bench) alarms(ctx context.Context) (int, error) {
	err := errors.New("no member answers")
	for _, pod := range b.list() {
		var answer struct{ Alarms []any }
		if err = b.traffic.post(ctx, pod, "maintenance/alarm", map[string]any{"action": "GET"}, &answer); err == nil {
			return len(answer.Alarms), nil
		}
	}
	return 0, err
}

// provenOrKept fails the test if a removed member's volume is deleted before another member votes in its place. Such
// was a plan that had old volumes deleted as soon as their members were removed.
func (b *bench) provenOrKept(removed v1beta2.MemberStatus) {
	b.Helper()
	for _, claim := range b.claims() {
		if claim.Name == removed.Name && claim.DeletionTimestamp.IsZero() {
			return
		}
	}
	kubetest.Eventually(b, "clients are led to the members", func(context.Context) error {
		members, err := b.traffic.members()
		if err != nil {
			return err
		}
		voters := slices.DeleteFunc(slices.Clone(members), func(m member) bool { return m.Learner || m.Name == removed.Name })
		if len(voters) < b.cluster.Spec.Size {
			b.Errorf("the volume of member %s is deleted, and the others are %v", removed.Name, members)
		}
		return nil
	})
}

// allTheSame fails the test unless all members have the same data, the precious value among it, and no alarm is on.
func (b *bench) allTheSame() {
	b.Helper()
	if alarms, err := b.alarms(b.Context()); err != nil || alarms > 0 {
		b.Errorf("%d alarms are on: %v", alarms, err)
	}
	b.traffic.still(func() {
		var hashes []string
		for _, pod := range b.list() {
			kubetest.Eventually(b, "member "+pod.Name+" says what it has", func(ctx context.Context) error {
				value, err := b.valueIn(ctx, pod.Name)
				if err != nil {
					return err
				}
				return b.ask(pod, func(member *etcd.Client) error {
					hash, _, err := member.HashKV(ctx, 0)
					hashes = append(hashes, fmt.Sprintf("%08x, %s is %s", hash, precious, value))
					return err
				})
			})
		}
		if same := slices.Compact(slices.Clone(hashes)); len(same) != 1 || !strings.HasSuffix(same[0], " "+preciousValue) {
			b.Errorf("members have other data than each other, or than was written: %q", hashes)
		}
	})
}
