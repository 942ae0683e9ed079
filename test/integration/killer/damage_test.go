package killer_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// precious is the key whose value one member returns differently from what was written.
const precious = "precious"

var preciousValue = strings.Repeat("precious.", 8)

// damage changes a value in a member's database, which stays well-formed.
func (b *bench) damage(member v1beta2.MemberStatus) {
	b.Helper()
	b.callAnyMember("kv/put", map[string]any{"key": []byte(precious), "value": []byte(preciousValue)})
	for i := range 100 { // so that etcd has flushed the page of the value to the file
		b.callAnyMember("kv/put", map[string]any{"key": []byte("later-" + strconv.Itoa(i)), "value": []byte(filling[:100])})
	}
	claims := b.claims()
	claim := slices.IndexFunc(claims, func(c corev1.PersistentVolumeClaim) bool { return c.Name == member.Name })
	path := filepath.Join(b.pods.ClaimDir(&claims[claim]), "data/member/snap/db")
	b.traffic.paused(func() {
		kubetest.Eventually(b, "member "+member.Name+" returns a corrupt value", func(ctx context.Context) error {
			if err := overwrite(path, preciousValue, "P"); err != nil {
				return err
			}
			if value, err := b.valueIn(ctx, member.Name); err != nil || value == preciousValue {
				return fmt.Errorf("it returns %q: %w", value, err)
			}
			return nil
		})
	})
}

// overwrite replaces the beginning of each copy of a text in a file. etcd maps its database into memory, so it reads the
// new bytes.
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

// valueIn returns the precious value from the database of a single member.
func (b *bench) valueIn(ctx context.Context, member string) (string, error) {
	for _, pod := range b.list() {
		if pod.Name != member {
			continue
		}
		var answer struct{ Kvs []struct{ Value []byte } }
		err := b.traffic.post(ctx, pod, "kv/range", map[string]any{"key": []byte(precious), "serializable": true}, &answer)
		if err != nil || len(answer.Kvs) != 1 {
			return "", fmt.Errorf("found %d values, expected 1: %w", len(answer.Kvs), err)
		}
		return string(answer.Kvs[0].Value), nil
	}
	return "", fmt.Errorf("member %s has no Pod", member)
}

// ask calls do with a client of a single member.
func (b *bench) ask(pod corev1.Pod, do func(*etcd.Client) error) error {
	address := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(v1beta2.ClientPort)))
	connection, err := etcd.Open(etcd.Endpoint{URL: "http://" + address, Address: address}, nil)
	if err != nil {
		return err
	}
	defer connection.Close()
	return do(connection)
}

// leader returns the member that reports itself as the leader.
func (b *bench) leader() (leader v1beta2.MemberStatus) {
	b.Helper()
	kubetest.Eventually(b, "a member is the leader", func(ctx context.Context) error {
		last := errors.New("no member reports that it is the leader")
		for _, pod := range b.list() {
			err := b.ask(pod, func(member *etcd.Client) error {
				soon, cancel := context.WithTimeout(ctx, 2*time.Second) // a frozen member never answers
				defer cancel()
				status, err := member.Status(soon)
				if err == nil && status.Leader() {
					leader = v1beta2.MemberStatus{Name: pod.Name, ID: status.MemberID.String()}
				}
				return err
			})
			if leader.Name != "" {
				return nil
			}
			last = cmp.Or(err, last)
		}
		return last
	})
	return leader
}

// alarms returns the number of raised alarms.
func (b *bench) alarms(ctx context.Context) (int, error) {
	err := errors.New("no member responds")
	for _, pod := range b.list() {
		var answer struct{ Alarms []any }
		if err = b.traffic.post(ctx, pod, "maintenance/alarm", map[string]any{"action": "GET"}, &answer); err == nil {
			return len(answer.Alarms), nil
		}
	}
	return 0, err
}

// volumeKeptUntilReplaced fails the test if a removed member's volume is deleted before a new voter replaced the member.
// An earlier version of the operator deleted such volumes as soon as it had removed their members.
func (b *bench) volumeKeptUntilReplaced(removed v1beta2.MemberStatus) {
	b.Helper()
	for _, claim := range b.claims() {
		if claim.Name == removed.Name && claim.DeletionTimestamp.IsZero() {
			return
		}
	}
	kubetest.Eventually(b, "the client Service selects members", func(context.Context) error {
		members, err := b.traffic.members()
		if err != nil {
			return err
		}
		voters := slices.DeleteFunc(slices.Clone(members), func(m member) bool { return m.Learner || m.Name == removed.Name })
		if len(voters) < b.cluster.Spec.Size {
			b.Errorf("the volume of member %s was deleted before a new voter replaced the member; the members are %v", removed.Name, members)
		}
		return nil
	})
}

// membersAgree fails the test unless all members have the same data with the precious value, and no alarm is raised.
func (b *bench) membersAgree() {
	b.Helper()
	if alarms, err := b.alarms(b.Context()); err != nil || alarms > 0 {
		b.Errorf("%d alarms are still raised: %v", alarms, err)
	}
	b.traffic.paused(func() {
		var hashes []string
		for _, pod := range b.list() {
			kubetest.Eventually(b, "member "+pod.Name+" returns its hash and value", func(ctx context.Context) error {
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
			b.Errorf("the members do not all have the data that was written: %q", hashes)
		}
	})
}
