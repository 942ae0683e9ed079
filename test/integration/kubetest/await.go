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

// Deadline of every wait. It is for a machine under load, not a figure to be proud of.
const Deadline = 60 * time.Second

const pollInterval = 50 * time.Millisecond

// Await reads object again and again, by its namespace and name, until met says
// yes; object is then as met saw it. what completes the sentence "the object did
// not ...", such as "become Ready". An object that is not there is waited for.
// After Deadline the test ends with the object's YAML.
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
// reason that is about its newest generation. An empty reason takes any.
func AwaitCondition[T client.Object](t testing.TB, object T, conditions func(T) []metav1.Condition, kind string, status metav1.ConditionStatus, reason string) {
	t.Helper()
	Await(t, object, "get the condition "+kind+"="+string(status)+" "+reason, func(object T) bool {
		condition := meta.FindStatusCondition(conditions(object), kind)
		return condition != nil && condition.Status == status &&
			condition.ObservedGeneration == object.GetGeneration() && (reason == "" || condition.Reason == reason)
	})
}

// AwaitGone waits until there is no object of that kind, namespace and name.
func AwaitGone(t testing.TB, object client.Object) {
	t.Helper()
	key := client.ObjectKeyFromObject(object)
	err := wait.PollUntilContextTimeout(t.Context(), pollInterval, Deadline, true, func(ctx context.Context) (bool, error) {
		err := Client(t).Get(ctx, key, object)
		return apierrors.IsNotFound(err), fatal(err)
	})
	if err != nil {
		t.Fatalf("%T %s did not go: %v\n%s", object, key, err, YAML(object))
	}
}

// Eventually waits until met has no error, for what is not one object. what
// completes the sentence "it did not come true that ...".
func Eventually(t testing.TB, what string, met func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), pollInterval, Deadline, true, func(ctx context.Context) (bool, error) {
		last = met(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("it did not come true that %s: %v", what, errors.Join(last, err))
	}
}

// YAML is how object looks to a reader of a failed test.
func YAML(object client.Object) string {
	object.SetManagedFields(nil)
	text, err := yaml.Marshal(object)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// fatal is err where waiting cannot help.
func fatal(err error) error {
	if apierrors.IsNotFound(err) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}
