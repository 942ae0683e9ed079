package kubetest

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Deadline is the timeout of every wait. It tolerates a machine under load; most waits take less than a second.
const Deadline = 60 * time.Second

const pollInterval = 50 * time.Millisecond

// Await reads object by its namespace and name until met returns true. object then
// has the content that met accepted. what completes the sentence "the object did
// not ...", such as "become Ready". Await also waits for a missing object. After
// Deadline the test fails with the object's YAML.
func Await[T client.Object](t testing.TB, object T, what string, met func(T) bool) {
	t.Helper()
	key := client.ObjectKeyFromObject(object)
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), pollInterval, Deadline, true, func(ctx context.Context) (bool, error) {
		if last = Client(t).Get(ctx, key, object); last != nil {
			return false, fatal(last)
		}
		return met(object), nil
	})
	switch {
	case err == nil:
	case last != nil:
		t.Fatalf("%T %s did not %s: %v", object, key, what, last)
	default:
		t.Fatalf("%T %s did not %s within %s:\n%s", object, key, what, Deadline, YAML(object))
	}
}

// AwaitCondition waits until object has a condition of that type, status and
// reason for its newest generation. An empty reason matches any.
func AwaitCondition[T client.Object](t testing.TB, object T, conditions func(T) []metav1.Condition, kind string, status metav1.ConditionStatus, reason string) {
	t.Helper()
	Await(t, object, "get the condition "+kind+"="+string(status)+" "+reason, func(object T) bool {
		condition := meta.FindStatusCondition(conditions(object), kind)
		return condition != nil && condition.Status == status &&
			condition.ObservedGeneration == object.GetGeneration() && (reason == "" || condition.Reason == reason)
	})
}

// AwaitGone waits until the object is deleted.
func AwaitGone(t testing.TB, object client.Object) {
	t.Helper()
	key := client.ObjectKeyFromObject(object)
	err := wait.PollUntilContextTimeout(t.Context(), pollInterval, Deadline, true, func(ctx context.Context) (bool, error) {
		err := Client(t).Get(ctx, key, object)
		return apierrors.IsNotFound(err), fatal(err)
	})
	if err != nil {
		t.Fatalf("%T %s was not deleted within %s: %v\n%s", object, key, Deadline, err, YAML(object))
	}
}

// Eventually waits until met returns no error. what is a clause that states the
// expected result, such as "the cluster is ready".
func Eventually(t testing.TB, what string, met func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), pollInterval, Deadline, true, func(ctx context.Context) (bool, error) {
		last = met(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: this did not happen within %s: %v", what, Deadline, errors.Join(last, err))
	}
}

// YAML returns object as YAML without managed fields, for the message of a failed test.
func YAML(object client.Object) string {
	object.SetManagedFields(nil)
	text, err := yaml.Marshal(object)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// fatal returns err if waiting cannot help, else nil.
func fatal(err error) error {
	if apierrors.IsNotFound(err) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}
