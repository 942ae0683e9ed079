package act

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// accounting is a member that refuses the changes of some names.
type accounting struct {
	changing
	refuses string
	lock    *sync.Mutex
	made    *[]string
}

func (a accounting) ChangeAccount(ctx context.Context, c etcd.AccountChange, _ string) error {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.refuses != "" && c.Name == a.refuses {
		return errors.New("refused")
	}
	if ctx.Err() == nil {
		*a.made = append(*a.made, string(c.Act)+" "+c.Name)
	}
	return ctx.Err()
}

// changesAccounts changes the users and roles of a policy that etcd does not have, and returns which changes were made.
func changesAccounts(t *testing.T, policy v1beta2.AuthPolicy, refuses string, prepare func(*view.View), secrets ...*corev1.Secret) ([]string, error) {
	t.Helper()
	api, v := clustertest.Beside(t)
	for _, s := range secrets {
		s.Namespace = v.Namespace
		if err := api.Client.Create(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	a := actorOf(api)
	v.State = clustertest.State(plantest.Formed, plantest.Members(3))
	v.Spec.Auth, v.Accounts.Known, v.Accounts.PasswordVersions = &policy, true, map[string]string{}
	for i := range v.Members {
		v.Addresses[v.Members[i].Name] = "192.0.2.1"
	}
	prepare(v)
	made, lock, calls := []string{}, sync.Mutex{}, 0
	a.confirmer.Connections.Dial = func(e etcd.Endpoint, _ *tls.Config) (members.Etcd, error) {
		i := slices.IndexFunc(v.Members, func(m state.Member) bool { return state.ClientURL(v.State, m.Name) == e.URL })
		status := etcd.Status{ClusterID: v.Members[i].ClusterID, MemberID: v.Members[i].ID}
		return accounting{changing{status: status, changes: &calls}, refuses, &lock, &made}, nil
	}
	err := a.etcd.changeAccounts(t.Context(), v)
	slices.Sort(made)
	return made, err
}

// A change that etcd refused ended the changes of other users, and one of them had just been deleted.
func TestAChangeThatEtcdRefusesEndsNoOther(t *testing.T) {
	var policy v1beta2.AuthPolicy
	for i := range 200 {
		policy.Roles = append(policy.Roles, v1beta2.AuthRole{Name: fmt.Sprint(i)})
	}
	made, err := changesAccounts(t, policy, "0", func(*view.View) {})
	if err == nil || len(made) != len(policy.Roles)-1 {
		t.Errorf("error %v, %d made", err, len(made))
	}
}

// The Secret had just got another user, and authentication was turned on for the user before. Then etcd refused the operators.
func TestAuthenticationIsTurnedOnForTheUserThatTheSecretHasNow(t *testing.T) {
	policy := v1beta2.AuthPolicy{Enabled: ptr.To(true), OperatorSecret: "login"}
	for user, refused := range map[string]bool{"keeper": false, "other": true} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "login"}, Data: map[string][]byte{"username": []byte(user), "password": []byte("p")}}
		made, err := changesAccounts(t, policy, "", func(v *view.View) { v.Authentication.User = "keeper" }, secret)
		if (err != nil) != refused || refused != (len(made) == 0) {
			t.Errorf("%s: error %v, made %q", user, err, made)
		}
	}
}

// etcd refuses a password of more than 72 bytes. It was asked after the user had been deleted.
func TestNothingIsChangedForAPasswordThatEtcdRefuses(t *testing.T) {
	policy := v1beta2.AuthPolicy{Enabled: ptr.To(true), OperatorSecret: "login"}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "login"}, Data: map[string][]byte{"username": []byte("keeper"), "password": []byte(strings.Repeat("p", 73))}}
	made, err := changesAccounts(t, policy, "", func(v *view.View) { v.Authentication.User = "keeper" }, secret)
	if err == nil || !strings.Contains(err.Error(), "73 bytes") || len(made) > 0 {
		t.Errorf("error %v, made %q", err, made)
	}
}

// A member hashed 32 passwords at the same time. With a small limit of CPU it finished none of them within the time of a step, in each step again.
func TestAMemberHashesFewPasswordsAtTheSameTime(t *testing.T) {
	of, names := map[string][]etcd.AccountChange{}, []string{}
	for i := range 50 {
		names = append(names, fmt.Sprint(i))
		of[names[i]] = []etcd.AccountChange{{Act: etcd.AddUser, Name: names[i], PasswordSecret: "p"}}
	}
	var now, most, all atomic.Int32
	full := make(chan struct{})
	err := sideBySide(t.Context(), names, limited(of, func(context.Context, []etcd.AccountChange) error {
		n := now.Add(1)
		defer now.Add(-1)
		most.Store(max(most.Load(), n))
		if all.Add(1) == passwordsAtOnce {
			close(full)
		}
		<-full
		return nil
	}))
	if err != nil || most.Load() > passwordsAtOnce || all.Load() != 50 {
		t.Errorf("%d at the same time, %d in all, error %v", most.Load(), all.Load(), err)
	}
}
