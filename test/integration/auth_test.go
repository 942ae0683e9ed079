package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

const password = "correct horse"

// loginOf returns a user of etcd.
func loginOf(t *testing.T, name, password string) *etcd.Login {
	t.Helper()
	login, err := etcd.NewLogin([]byte(name), []byte(password+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return login
}

// askAs opens a client of a member with a user.
func askAs(t *testing.T, m *servers.EtcdMember, login *etcd.Login) *etcd.Client {
	t.Helper()
	c, err := etcd.Open(etcd.Endpoint{URL: m.ClientURL, Login: login}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// withUsers adds root and keeper with the role root, and reader without a role.
func withUsers(t *testing.T, m *servers.EtcdMember) {
	t.Helper()
	m.Put(t, "key", "value")
	m.AddUser(t, "root", password, true)
	m.AddUser(t, "keeper", password, true)
	m.AddUser(t, "reader", password, false)
}

// saves reads a whole snapshot.
func saves(ctx context.Context, c *etcd.Client) error {
	stream, _, err := c.Snapshot(ctx)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, stream)
	return errors.Join(err, stream.Close())
}

func TestAUserWithAPasswordMayDoEverythingWithAuthenticationOnAndOff(t *testing.T) {
	t.Parallel()
	for _, minor := range []string{"3.5", "3.6", "3.7"} {
		t.Run(minor, func(t *testing.T) {
			t.Parallel()
			cluster := servers.Etcd(t, servers.EtcdOptions{Minor: minor})
			first := cluster.Members[0]
			withUsers(t, first)
			login := loginOf(t, "keeper", password)
			keeper := askAs(t, first, login)
			may := func(what string) {
				t.Helper()
				_, statusErr := keeper.Status(t.Context())
				_, membersErr := keeper.Members(t.Context())
				if err := errors.Join(statusErr, membersErr, keeper.Serving(t.Context()), saves(t.Context(), keeper)); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
			}
			may("while authentication is off")
			first.EnableAuth(t)
			if err := saves(t.Context(), keeper); err != nil {
				t.Errorf("a snapshot is refused, and nothing else asked for a token before: %v", err)
			}
			may("while authentication is on")

			// A learner issues no token, and does not accept tokens from before its start.
			peerURL := servers.PeerURL(t)
			eventually(t, "a learner is added", func(ctx context.Context) error { return keeper.AddLearner(ctx, peerURL) })
			learner := askAs(t, cluster.Join(t, minor, peerURL), login)
			eventually(t, "the learner answers", func(ctx context.Context) error {
				_, err := learner.Status(ctx)
				return errors.Join(err, keeper.Serving(ctx)) // the operator asks all members in every pass
			})
			eventually(t, "the learner is promoted", func(ctx context.Context) error { return promoteIn(ctx, keeper) })

			// Members lose their tokens when they restart.
			first.Stop()
			first.Start()
			first.AwaitHealthy()
			eventually(t, "the restarted member answers", func(ctx context.Context) error { _, err := keeper.Status(ctx); return err })

			// The other member has the token, and needs no quorum to check it.
			eventually(t, "both members know the token", func(ctx context.Context) error { _, err := learner.Status(ctx); return err })
			first.Stop()
			if _, err := learner.Status(t.Context()); err != nil {
				t.Errorf("without a quorum the token is refused: %v", err)
			}
			_, err := askAs(t, cluster.Members[1], loginOf(t, "keeper", password)).Status(t.Context())
			if cause := "it cannot reach a quorum, which it needs to authenticate the operator, or it takes too long to check the password (etcd flag --bcrypt-cost)"; err == nil || etcd.Cause(err) != cause {
				t.Errorf("the cause is %v, want %q", err, cause)
			}
		})
	}
}

// TestMembersThatCheckManyPasswordsAtOnceAnswerAllOfThem: bcrypt is slow by design, and a slow login does not mean that
// the quorum is lost.
func TestMembersThatCheckManyPasswordsAtOnceAnswerAllOfThem(t *testing.T) {
	cluster := servers.Etcd(t, servers.EtcdOptions{Size: 3, Args: []string{"--bcrypt-cost=10"}})
	withUsers(t, cluster.Members[0])
	cluster.Members[0].EnableAuth(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var looks sync.WaitGroup
	for _, m := range cluster.Members {
		for range 4 {
			c := askAs(t, m, loginOf(t, "keeper", password)) // each login has its own token
			looks.Go(func() {
				_, statusErr := c.Status(ctx)
				_, membersErr := c.Members(ctx)
				if err := errors.Join(statusErr, c.Serving(ctx), membersErr); err != nil {
					t.Errorf("%s: %v", m.Name, err)
				}
			})
		}
	}
	looks.Wait()
}

func TestARefusalOfEtcdNamesWhatIsMissing(t *testing.T) {
	for _, minor := range []string{"3.5", "3.6", "3.7"} {
		t.Run(minor, func(t *testing.T) {
			t.Parallel()
			first := servers.Etcd(t, servers.EtcdOptions{Minor: minor}).Members[0]
			withUsers(t, first)
			first.EnableAuth(t)
			for name, test := range map[string]struct {
				login *etcd.Login
				want  etcd.Refusal
			}{
				"no user":                      {nil, etcd.RefusedUnknown},
				"a wrong password":             {loginOf(t, "keeper", "wrong"), etcd.RefusedPassword},
				"a user that does not exist":   {loginOf(t, "nobody", password), etcd.RefusedPassword},
				"a user without the role root": {loginOf(t, "reader", password), etcd.RefusedRole},
			} {
				c := askAs(t, first, test.login)
				for call, err := range map[string]error{
					"add a member": c.AddLearner(t.Context(), servers.PeerURL(t)), "read": c.Serving(t.Context()), "save": saves(t.Context(), c),
				} {
					if got := etcd.RefusalOf(err); got != test.want {
						t.Errorf("%s: %s: %q (%v), want %q", name, call, got, err, test.want)
					}
				}
			}
		})
	}
}

func TestBackupOfAClusterWithAuthentication(t *testing.T) {
	t.Parallel()
	cluster := servers.Etcd(t, servers.EtcdOptions{Size: 3})
	withUsers(t, cluster.Members[0])
	cluster.Members[0].EnableAuth(t)
	b := newBackupBench(t)
	user := func(name, password string) map[string][]byte {
		return map[string][]byte{v1beta2.AuthUsernameKey: []byte(name), v1beta2.AuthPasswordKey: []byte(password), "endpoints": []byte(strings.Join(cluster.Endpoints(), "\n"))}
	}
	kubetest.Create(b, b.secret("keeper", user("keeper", password)), b.secret("wrong", user("keeper", "wrong")), b.secret("reader", user("reader", password)))

	b.in("saves endpoints, and compares the restored snapshot with the members", func(b *backupBench) {
		backup := b.backup("endpoints", "backups/endpoints.db", cluster.Endpoints()...)
		backup.Spec.ClientAuthSecret, backup.Spec.Verify = "keeper", v1beta2.VerifyRestore
		kubetest.Create(b, backup)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
		b.fetchReported(backup, b.bucket)
		if d := backup.Status.LastDrill; d == nil || !d.Compared {
			b.Errorf("the restore test did not compare the snapshot with the members: %+v", d)
		}
	})
	b.in("saves an EtcdCluster as the user in its status", func(b *backupBench) {
		object := b.cluster("guarded", metav1.ConditionFalse, cluster)
		object.Status.OperatorAuthSecret = "keeper"
		b.report(object, metav1.ConditionTrue, cluster)
		backup := b.backup("named-auth", "backups/named-auth.db")
		backup.Spec.EtcdCluster = &v1beta2.ClusterReference{Name: "guarded"}
		kubetest.Create(b, backup)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
	})
	for secret, says := range map[string]string{"": "Set clientAuthSecret", "wrong": "Correct the user name", "reader": "role root", "missing": "create Secret missing"} {
		b.in(fmt.Sprintf("reports what is missing with the Secret %q", secret), func(b *backupBench) {
			backup := b.backup("as-"+secret+"x", "backups/refused.db", cluster.Endpoints()...)
			backup.Spec.ClientAuthSecret = secret
			kubetest.Create(b, backup)
			reason := v1beta2.ReasonEtcdAccessDenied
			if secret == "missing" {
				reason = v1beta2.ReasonSecretMissing
			}
			b.fails(backup, reason, says)
		})
	}
}
