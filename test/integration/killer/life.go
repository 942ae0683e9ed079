package killer

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// ErrDead is what a dead operator hears.
var ErrDead = errors.New("the operator was killed")

// Call is one call of an operator.
type Call struct {
	// Name says what is called on what, for example "create Pod example-bcdf".
	Name string
	// Effect: the call may change the world.
	Effect bool
	// Content of a patch, without its figures, so that counting up is not a new thing each time. It stands, too, with
	// what is asked of etcd and is known to be done from a status alone; it is empty for others.
	Content string
}

// Moment is when an operator dies.
type Moment int

// Moments.
const (
	Never Moment = iota
	Before
	After
)

// Policy chooses the calls at which operators die. It is asked by one Life at a time, and may be by several calls
// of it at once.
type Policy interface {
	// Choose says whether to die at a call.
	Choose(Call) Moment
	// Done is told of a call that came back to an operator, or had before it died: whether it changed the world.
	Done(call Call, changed bool)
}

// Life is one process of an operator.
type Life struct {
	policy Policy
	ctx    context.Context
	end    context.CancelCauseFunc

	mu    sync.Mutex
	death string
}

// NewLife begins a life, which ends with ctx or when policy says so.
func NewLife(ctx context.Context, policy Policy) *Life {
	l := &Life{policy: policy}
	l.ctx, l.end = context.WithCancelCause(ctx)
	return l
}

// Context ends with the life.
func (l *Life) Context() context.Context { return l.ctx }

// End ends it, as a process that is stopped.
func (l *Life) End() { l.end(ErrDead) }

// Death says at which call it died; empty while it lives.
func (l *Life) Death() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.death
}

// call does one call, unless the operator is dead or dies of it.
func (l *Life) call(call Call, do func() error) error {
	return l.callThat(call, do, func(err error) bool { return err == nil })
}

// callThat is for a call of which changed can tell, when it has come back, whether it changed anything.
func (l *Life) callThat(call Call, do func() error, changed func(error) bool) error {
	if l.ctx.Err() != nil {
		return ErrDead
	}
	moment := l.policy.Choose(call)
	if moment == Before {
		l.die("before " + call.Name)
		return ErrDead
	}
	err := do()
	if l.ctx.Err() != nil && moment == Never {
		return ErrDead // it died of another call meanwhile
	}
	l.policy.Done(call, call.Effect && changed(err))
	if moment == After {
		l.die("after " + call.Name)
		return ErrDead
	}
	return err
}

func (l *Life) die(of string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.death == "" {
		l.death = of
	}
	l.end(ErrDead)
}

// Client is c as the operator has it. Every write is a call; reads are not, because what dies of one has done the
// same as what dies of the call before.
func (l *Life) Client(c client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			return l.read(func() error { return c.Get(ctx, key, object, opts...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return l.read(func() error { return c.List(ctx, list, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.CreateOption) error {
			return l.write(ctx, c, "create", object, func() error { return c.Create(ctx, object, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.UpdateOption) error {
			return l.write(ctx, c, "update", object, func() error { return c.Update(ctx, object, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return l.write(ctx, c, "patch", object, func() error { return c.Patch(ctx, object, patch, opts...) }, patch)
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
			return l.write(ctx, c, "delete", object, func() error { return c.Delete(ctx, object, opts...) })
		},
		DeleteAllOf: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.DeleteAllOfOption) error {
			return l.write(ctx, c, "delete all", object, func() error { return c.DeleteAllOf(ctx, object, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return l.apply(ctx, c, "apply", object, func() error { return c.Apply(ctx, object, opts...) })
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, sub string, object, content client.Object, opts ...client.SubResourceCreateOption) error {
			return l.write(ctx, c, "create "+sub+" of", object, func() error { return c.SubResource(sub).Create(ctx, object, content, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, object client.Object, opts ...client.SubResourceUpdateOption) error {
			return l.write(ctx, c, "update "+sub+" of", object, func() error { return c.SubResource(sub).Update(ctx, object, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return l.write(ctx, c, "patch "+sub+" of", object, func() error { return c.SubResource(sub).Patch(ctx, object, patch, opts...) }, patch)
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, object runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			return l.apply(ctx, c, "apply "+sub+" of", object, func() error { return c.SubResource(sub).Apply(ctx, object, opts...) })
		},
	})
}

func (l *Life) read(do func() error) error {
	if l.ctx.Err() != nil {
		return ErrDead
	}
	return do()
}

// write is a call of which the object's version tells whether it changed anything.
func (l *Life) write(ctx context.Context, c client.Client, verb string, object client.Object, do func() error, patch ...client.Patch) error {
	before := version(ctx, c, object)
	call := Call{Name: fmt.Sprintf("%s %s %s", verb, kindOf(c, object).Kind, object.GetName()), Effect: true}
	for _, p := range patch {
		content, _ := p.Data(object)
		call.Content += string(figures.ReplaceAll(content, nil))
	}
	return l.callThat(call, do, func(error) bool { return version(context.WithoutCancel(ctx), c, object) != before })
}

// apply is write for what is applied; what tells too little of itself is taken to change something.
func (l *Life) apply(ctx context.Context, c client.Client, verb string, applied runtime.ApplyConfiguration, do func() error) error {
	if object, ok := applied.(client.Object); ok {
		return l.write(ctx, c, verb, object, do)
	}
	return l.call(Call{Name: fmt.Sprintf("%s %T", verb, applied), Effect: true}, do)
}

var figures = regexp.MustCompile(`[0-9]+`)

func kindOf(c client.Client, object client.Object) schema.GroupVersionKind {
	kind, _ := apiutil.GVKForObject(object, c.Scheme())
	return kind
}

// version tells two states of an object apart; it is empty while there is none.
func version(ctx context.Context, c client.Client, object client.Object) string {
	var there metav1.PartialObjectMetadata
	there.SetGroupVersionKind(kindOf(c, object))
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), &there); err != nil {
		return ""
	}
	return string(there.UID) + " " + there.ResourceVersion
}
