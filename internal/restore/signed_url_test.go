package restore

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

const signedSecret = "etcdrestore-uid-restore"

// signing makes the bench sign URLs that expire after an hour, one for each call.
func (b *bench) signing() *int {
	b.Helper()
	calls := 0
	b.r.urls.renewals = worker.New[state.Renewal](1)
	if err := b.r.urls.renewals.Source().Start(b.Context(), b.queue); err != nil {
		b.Fatal(err)
	}
	b.r.urls.sign = func(context.Context, v1beta2.RestoreSource, source.By) (objstore.SignedURL, error) {
		calls++
		return objstore.SignedURL{URL: "https://s3/?sig=" + strings.Repeat("x", calls), Header: http.Header{"A": {"b"}}, Expires: b.clock.Now().Add(time.Hour)}, nil
	}
	return &calls
}

// ownIdentity is a Secret without credentials.
func ownIdentity() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "aws"}, Data: map[string][]byte{"ca.crt": []byte("pem")}}
}

// url returns what the Secret for the seed has, and an empty string if there is none.
func (b *bench) url() string {
	b.Helper()
	var secret corev1.Secret
	err := b.client.Get(b.Context(), client.ObjectKey{Namespace: "ns", Name: signedSecret}, &secret)
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		b.Fatal(err)
	}
	if owners := secret.OwnerReferences; len(owners) != 1 || owners[0].UID != "uid-restore" {
		b.Errorf("the Secret is owned by %+v", owners)
	}
	url, err := source.URLOf(secret.Data)
	if err != nil || url.Header.Get("A") != "b" {
		b.Errorf("the Secret has %+v: %v", url, err)
	}
	return url.URL
}

func verified(r *v1beta2.EtcdRestore) string {
	return meta.FindStatusCondition(r.Status.Conditions, v1beta2.ConditionVerified).Message
}

func TestTheSeedGetsASignedURLUntilTheRestoreEnds(t *testing.T) {
	cluster := theCluster()
	b := newBench(t, good, interceptor.Funcs{}, cluster, ownIdentity())
	calls := b.signing()
	b.read()
	b.pass()
	if result := b.pass(); result.RequeueAfter != 5*time.Minute { // earlier than the URL, because the cluster has not started the restore
		t.Errorf("the restore is looked at after %s", result.RequeueAfter)
	}
	restore := b.wantReady(v1beta2.ReasonVerified)
	if url := restore.Status.SignedURL; url == nil || url.SecretName != signedSecret || !url.ExpirationTime.Equal(&metav1.Time{Time: now.Add(time.Hour)}) {
		t.Fatalf("status %+v", url)
	}
	if b.url() != "https://s3/?sig=x" || !strings.Contains(verified(restore), signedSecret) || strings.Contains(verified(restore), "sig=") {
		t.Errorf("URL %s, condition %s", b.url(), verified(restore))
	}
	cluster.Status.Restore = progress(v1beta2.RestoreSeeding)
	if err := b.client.Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	b.clock.Step(30 * time.Minute)
	b.read() // signs another one
	b.pass()
	b.pass()
	if restore := b.restore(); b.url() != "https://s3/?sig=xx" || !restore.Status.SignedURL.ExpirationTime.Equal(&metav1.Time{Time: now.Add(90 * time.Minute)}) {
		t.Errorf("after half of its time the URL is %s, status %+v", b.url(), restore.Status.SignedURL)
	}
	cluster.Status.Restore = progress(v1beta2.RestoreGrowing)
	if err := b.client.Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	b.clock.Step(2 * time.Hour)
	b.pass()
	b.pass()
	if *calls != 2 {
		t.Errorf("%d URLs, but the seed was complete after two", *calls)
	}
	cluster.Status.Restore = progress(v1beta2.RestoreComplete)
	if err := b.client.Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	b.pass()
	b.wantReady(v1beta2.ReasonComplete)
	if b.url() != "" {
		t.Error("the URL outlives the restore")
	}
}

// A policy that wants a label on each object would keep the seed from getting its URL.
func TestTheSecretWithTheURLHasTheLabelsOfTheEtcdCluster(t *testing.T) {
	cluster := theCluster()
	cluster.Spec.Metadata = &v1beta2.MetadataPolicy{
		Labels: map[string]v1beta2.LabelValue{"cost-center": "42"}, Annotations: map[string]v1beta2.AnnotationValue{"example.com/owner": "team a"},
	}
	b := newBench(t, good, interceptor.Funcs{}, cluster, ownIdentity())
	b.signing()
	b.read()
	b.pass()
	if b.url() == "" {
		t.Fatal("there is no URL")
	}
	var secret corev1.Secret
	if err := b.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: signedSecret}, &secret); err != nil {
		t.Fatal(err)
	}
	if secret.Labels["cost-center"] != "42" || secret.Annotations["example.com/owner"] != "" || secret.Labels[v1beta2.LabelCluster] != cluster.Name {
		t.Errorf("the Secret has the labels %v and the annotations %v", secret.Labels, secret.Annotations)
	}
}

func TestNoURLIsSignedIfTheSecretHasCredentialsOrNothingIsRestored(t *testing.T) {
	for name, test := range map[string]struct {
		secret *corev1.Secret
		change func(*v1beta2.EtcdRestore)
	}{
		"the Secret has credentials": {awsSecret(), func(*v1beta2.EtcdRestore) {}},
		"the restore is a dry run":   {ownIdentity(), func(r *v1beta2.EtcdRestore) { r.Spec.DryRun = true }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, good, interceptor.Funcs{}, theCluster(), test.secret)
			calls := b.signing()
			restore := b.restore()
			test.change(restore)
			if err := b.client.Update(t.Context(), restore); err != nil {
				t.Fatal(err)
			}
			b.read()
			b.pass()
			if restore := b.restore(); *calls != 0 || b.url() != "" || restore.Status.SignedURL != nil {
				t.Errorf("%d URLs, %+v", *calls, restore.Status.SignedURL)
			}
		})
	}
}

func TestARestoreWithoutASignedURLSaysWhoReads(t *testing.T) {
	forbidden := interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, o.GetName(), errors.New("no right"))
	}}
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: signedSecret}, Data: map[string][]byte{"url": []byte("theirs")}}
	for name, test := range map[string]struct {
		hooks   interceptor.Funcs
		refuses error
		foreign bool
		says    string
	}{
		"the identity may not sign":              {refuses: errors.New("403: signBlob"), says: "signBlob"},
		"the operator may not create the Secret": {hooks: forbidden, says: "no right"},
		"a foreign Secret has the name":          {foreign: true, says: "belongs to another object"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{theCluster(), ownIdentity()}
			if test.foreign {
				objects = append(objects, foreign.DeepCopy())
			}
			b := newBench(t, good, test.hooks, objects...)
			b.signing()
			if test.refuses != nil {
				b.r.urls.sign = func(context.Context, v1beta2.RestoreSource, source.By) (objstore.SignedURL, error) {
					return objstore.SignedURL{}, test.refuses
				}
			}
			b.read()
			b.pass()
			restore := b.wantReady(v1beta2.ReasonVerified)
			if url := restore.Status.SignedURL; url == nil || url.SecretName != "" || !strings.Contains(url.Message, test.says) {
				t.Errorf("status %+v", url)
			}
			if text := verified(restore); !strings.Contains(text, test.says) || !strings.Contains(text, "as the ServiceAccount of the members") {
				t.Errorf("Verified: %s", text)
			}
			if test.foreign {
				var secret corev1.Secret
				if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(foreign), &secret); err != nil || string(secret.Data["url"]) != "theirs" {
					t.Errorf("the foreign Secret has %s: %v", secret.Data["url"], err)
				}
			}
		})
	}
}

func TestAnExpiringURLIsKeptAndTriedAgainIfItsRenewalFails(t *testing.T) {
	b := newBench(t, good, interceptor.Funcs{}, theCluster(), ownIdentity())
	b.signing()
	b.read()
	b.pass()
	b.r.urls.sign = func(context.Context, v1beta2.RestoreSource, source.By) (objstore.SignedURL, error) {
		return objstore.SignedURL{}, errors.New("token service is down")
	}
	b.clock.Step(30 * time.Minute)
	b.read()
	b.pass()
	url := b.restore().Status.SignedURL
	if b.url() != "https://s3/?sig=x" || url.SecretName != signedSecret || !url.RenewalTime.Equal(&metav1.Time{Time: now.Add(31 * time.Minute)}) || !strings.Contains(url.Message, "token service") {
		t.Errorf("URL %s, status %+v", b.url(), url)
	}
}

// allowing returns a list that allows all paths to a namespace.
func allowing(namespace string) grant.List {
	return grant.List{{Namespaces: []string{namespace}, PathPrefix: grant.All}}
}

// A tenant restored the snapshots of others, which the operator's identity can read.
func TestANamespaceWithoutASecretCannotUseTheOperatorsIdentityUnlessAllowed(t *testing.T) {
	below := func(prefix string) grant.List {
		return grant.List{{Namespaces: []string{grant.All}, PathPrefix: prefix}}
	}
	for name, test := range map[string]struct {
		allowed grant.List
		secret  *corev1.Secret
		reason  string
	}{
		"is refused by default":                                     {nil, ownIdentity(), v1beta2.ReasonOwnIdentityNotAllowed},
		"is allowed if the list has the namespace":                  {allowing("ns"), ownIdentity(), v1beta2.ReasonVerified},
		"is refused if the list has only another namespace":         {allowing("other"), ownIdentity(), v1beta2.ReasonOwnIdentityNotAllowed},
		"is allowed below the prefix of the list":                   {below("backups/"), ownIdentity(), v1beta2.ReasonVerified},
		"is refused beside the prefix of the list":                  {below("backups/{namespace}/"), ownIdentity(), v1beta2.ReasonOwnIdentityNotAllowed},
		"allows the namespace's own credentials with an empty list": {nil, awsSecret(), v1beta2.ReasonVerified},
		"refuses them in a bucket that the list names":              {below("backups/{namespace}/"), awsSecret(), v1beta2.ReasonPathNotAllowed},
		"allows them in another bucket":                             {below("platform/{namespace}/"), awsSecret(), v1beta2.ReasonVerified},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, good, interceptor.Funcs{}, theCluster(), test.secret)
			b.signing()
			b.r.identity = test.allowed
			b.read()
			b.pass()
			restore := b.wantReady(test.reason)
			if test.reason == v1beta2.ReasonVerified {
				return
			}
			if b.reads.Load() != 0 || !strings.Contains(restore.Status.Reason, "restoreOperator.ownIdentity") {
				t.Errorf("%d reads, %s", b.reads.Load(), restore.Status.Reason)
			}
			if !meta.IsStatusConditionTrue(restore.Status.Conditions, v1beta2.ConditionStalled) {
				t.Error("it does not say that a person must act")
			}
			order := state.SafetyOrder{Namespace: "ns", Cluster: "example"}
			order.Target.Provider, order.Target.Bucket, order.Target.Key, order.Target.Secret = v1beta2.StorageS3, "backups", "safety-snapshots", "aws"
			if _, err := b.r.saver.secrets(t.Context(), "ns", order); err == nil {
				t.Error("the safety snapshot may use it")
			}
		})
	}
}
