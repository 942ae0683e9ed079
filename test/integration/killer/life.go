package killer

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// ErrKilled is the error of all calls of a killed operator.
var ErrKilled = errors.New("the operator was killed")

// Call is one call of an operator.
type Call struct {
	// Name is the verb and the object, for example "create Pod example-bcdf".
	Name string
	// Effect is true if the call may change Kubernetes or etcd.
	Effect bool
	// Content is a patch without its numbers, so that patches of a counter are equal. All updates of a Secret count as equal,
	// because each Life signs another URL. It is also set for calls of etcd whose effect the operator knows only from a
	// status. It is empty for other calls.
	Content string
}

// KillPoint is when an operator is killed.
type KillPoint int

// The kill points, relative to a call.
const (
	Never KillPoint = iota
	Before
	After
)

// Policy chooses the calls at which operators are killed. Only one Life uses it at a time, but several of its calls may
// do so concurrently.
type Policy interface {
	// Choose returns whether to kill the operator at a call.
	Choose(Call) KillPoint
	// Done is called after a call returned, unless another call killed the operator first. changed reports whether the
	// call had an effect.
	Done(call Call, changed bool)
}

// Life is one process of an operator.
type Life struct {
	policy Policy
	ctx    context.Context
	end    context.CancelCauseFunc

	mu       sync.Mutex
	killedAt string
}

// NewLife starts a Life. It ends with ctx or when policy kills it.
func NewLife(ctx context.Context, policy Policy) *Life {
	l := &Life{policy: policy}
	l.ctx, l.end = context.WithCancelCause(ctx)
	return l
}

// Context ends with the Life.
func (l *Life) Context() context.Context { return l.ctx }

// End ends the Life without a kill.
func (l *Life) End() { l.end(ErrKilled) }

// KilledAt returns the call at which the operator was killed, or "" if it was not.
func (l *Life) KilledAt() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.killedAt
}

// call makes one call, unless the operator is or gets killed.
func (l *Life) call(call Call, do func() error) error {
	return l.callWithEffect(call, do, func(err error) bool { return err == nil })
}

// callWithEffect is call with a function that reports, after the call returned, whether it had an effect.
func (l *Life) callWithEffect(call Call, do func() error, changed func(error) bool) error {
	if l.ctx.Err() != nil {
		return ErrKilled
	}
	point := l.policy.Choose(call)
	if point == Before {
		l.kill("before " + call.Name)
		return ErrKilled
	}
	err := do()
	if l.ctx.Err() != nil && point == Never {
		return ErrKilled // another call killed it meanwhile
	}
	l.policy.Done(call, call.Effect && changed(err))
	if point == After {
		l.kill("after " + call.Name)
		return ErrKilled
	}
	return err
}

func (l *Life) kill(at string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.killedAt == "" {
		l.killedAt = at
	}
	l.end(ErrKilled)
}

// Client wraps c for the operator. Every write is a Call. Reads and dry runs are not, because a kill at a read equals a kill after
// the previous call. live reads without a cache: a cache lags behind a write, so it would not show that the write had an
// effect.
func (l *Life) Client(c client.WithWatch, live client.Client) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			return l.read(func() error { return c.Get(ctx, key, object, opts...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return l.read(func() error { return c.List(ctx, list, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.CreateOption) error {
			if slices.Contains(opts, client.CreateOption(client.DryRunAll)) {
				return l.read(func() error { return c.Create(ctx, object, opts...) })
			}
			return l.write(ctx, live, "create", object, func() error { return c.Create(ctx, object, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.UpdateOption) error {
			return l.write(ctx, live, "update", object, func() error { return c.Update(ctx, object, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return l.write(ctx, live, "patch", object, func() error { return c.Patch(ctx, object, patch, opts...) }, patch)
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
			return l.write(ctx, live, "delete", object, func() error { return c.Delete(ctx, object, opts...) })
		},
		DeleteAllOf: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.DeleteAllOfOption) error {
			return l.write(ctx, live, "delete all", object, func() error { return c.DeleteAllOf(ctx, object, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return l.apply(ctx, live, "apply", object, func() error { return c.Apply(ctx, object, opts...) })
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, sub string, object, content client.Object, opts ...client.SubResourceCreateOption) error {
			return l.write(ctx, live, "create "+sub+" of", object, func() error { return c.SubResource(sub).Create(ctx, object, content, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, object client.Object, opts ...client.SubResourceUpdateOption) error {
			return l.write(ctx, live, "update "+sub+" of", object, func() error { return c.SubResource(sub).Update(ctx, object, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return l.write(ctx, live, "patch "+sub+" of", object, func() error { return c.SubResource(sub).Patch(ctx, object, patch, opts...) }, patch)
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, object runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			return l.apply(ctx, live, "apply "+sub+" of", object, func() error { return c.SubResource(sub).Apply(ctx, object, opts...) })
		},
	})
}

func (l *Life) read(do func() error) error {
	if l.ctx.Err() != nil {
		return ErrKilled
	}
	return do()
}

// write makes a call and compares the object's versions to detect whether it had an effect.
func (l *Life) write(ctx context.Context, live client.Client, verb string, object client.Object, do func() error, patch ...client.Patch) error {
	before := version(ctx, live, object)
	call := Call{Name: fmt.Sprintf("%s %s %s", verb, kindOf(live, object).Kind, object.GetName()), Effect: true}
	for _, p := range patch {
		content, _ := p.Data(object)
		call.Content += string(figures.ReplaceAll(content, nil))
	}
	if _, is := object.(*corev1.Secret); is && verb == "update" {
		call.Content = verb
	}
	return l.callWithEffect(call, do, func(error) bool { return version(context.WithoutCancel(ctx), live, object) != before })
}

// apply is write for apply configurations. If the object is unknown, it assumes that the call had an effect.
func (l *Life) apply(ctx context.Context, live client.Client, verb string, applied runtime.ApplyConfiguration, do func() error) error {
	if object, ok := applied.(client.Object); ok {
		return l.write(ctx, live, verb, object, do)
	}
	return l.call(Call{Name: fmt.Sprintf("%s %T", verb, applied), Effect: true}, do)
}

var figures = regexp.MustCompile(`[0-9]+`)

func kindOf(c client.Client, object client.Object) schema.GroupVersionKind {
	kind, _ := apiutil.GVKForObject(object, c.Scheme())
	return kind
}

// version identifies the state of an object. It is empty if the object does not exist.
func version(ctx context.Context, c client.Client, object client.Object) string {
	var there metav1.PartialObjectMetadata
	there.SetGroupVersionKind(kindOf(c, object))
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), &there); err != nil {
		return ""
	}
	return string(there.UID) + " " + there.ResourceVersion
}
