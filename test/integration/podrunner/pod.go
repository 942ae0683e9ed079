package podrunner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// unmounting is how long the object of a Pod is kept after its containers have ended. A kubelet unmounts volumes meanwhile.
const unmounting = 300 * time.Millisecond

var (
	errStopped = errors.New("the Pod was deleted")
)

func newPod(ctx context.Context, r *Runner, object *corev1.Pod) *pod {
	p := &pod{
		runner: r, name: object.Name, spec: *object.Spec.DeepCopy(),
		dir: filepath.Join(r.dir, "pods", string(object.UID)), stop: make(chan struct{}),
	}
	p.ctx, p.kill = context.WithCancel(ctx)
	p.status = newStatus(r, object)
	return p
}

// observe stops the Pod if it was deleted, and reads its Secrets again if its annotations changed.
func (p *pod) observe(object *corev1.Pod) {
	if object.DeletionTimestamp.IsZero() {
		if p.seen != nil && !maps.Equal(p.seen, object.Annotations) {
			p.reread()
		}
		p.seen = object.Annotations
		return
	}
	p.once.Do(func() {
		if object.DeletionGracePeriodSeconds != nil {
			p.grace = time.Duration(*object.DeletionGracePeriodSeconds) * time.Second
		}
		close(p.stop)
	})
}

// reread updates the files of the Pod's Secrets and annotations. It keeps the files of a deleted Secret.
func (p *pod) reread() {
	for _, volume := range p.spec.Volumes {
		if volume.Secret == nil && volume.Projected == nil && volume.DownwardAPI == nil {
			continue
		}
		if _, err := p.volume(volume.Name); err != nil && p.ctx.Err() == nil {
			p.runner.t.Logf("podrunner: Pod %s: read the Secrets of volume %s again: %v", p.name, volume.Name, err)
		}
	}
}

// run runs the Pod until it is deleted, and then removes it.
func (p *pod) run() {
	defer p.kill()
	err := p.runContainers()
	if !errors.Is(err, errStopped) && p.ctx.Err() == nil {
		p.runner.t.Errorf("podrunner: Pod %s: %v", p.name, err)
	}
	if p.address.IsValid() {
		p.runner.names.remove(p.host(), p.address)
	}
	if err := os.RemoveAll(p.dir); err != nil {
		p.runner.t.Errorf("podrunner: Pod %s: %v", p.name, err)
	}
	if p.ctx.Err() != nil {
		return
	}
	p.status.final(p.ctx)
	select {
	case <-p.ctx.Done(): // the operator has deleted the object
		return
	case <-time.After(unmounting):
	}
	now, uid := int64(0), p.status.object.UID
	err = p.runner.client.Delete(p.ctx, p.status.object, &client.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &uid}})
	if client.IgnoreNotFound(err) != nil && p.ctx.Err() == nil {
		p.runner.t.Errorf("podrunner: remove Pod %s: %v", p.name, err)
	}
}

func (p *pod) runContainers() error {
	if err := p.await(p.place); err != nil {
		return err
	}
	var err error
	if p.address, err = p.runner.names.add(p.host()); err != nil {
		return err
	}
	p.status.placed(p.ctx, p.address)
	for _, container := range p.spec.InitContainers {
		if err := p.untilDone(container); err != nil {
			return err
		}
	}
	p.status.initialized(p.ctx)
	return p.forever(p.spec.Containers[0])
}

func (p *pod) host() string {
	return p.spec.Hostname + "." + p.spec.Subdomain + "." + p.runner.namespace + ".svc"
}

// place waits for the claims, as the scheduler does, and then binds the Pod to a node.
func (p *pod) place() error {
	for _, name := range claimsOf(p.status.object) {
		claim, err := p.claim(name)
		if err != nil || !claim.DeletionTimestamp.IsZero() {
			p.status.unschedulable(p.ctx, fmt.Sprintf("persistentvolumeclaim %q not found or being deleted", name))
			return errWaiting
		}
		if claim.Status.Phase != corev1.ClaimBound {
			return errWaiting
		}
	}
	binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "podrunner"}}
	return client.IgnoreNotFound(p.runner.client.SubResource("binding").Create(p.ctx, p.status.object.DeepCopy(), binding))
}

func (p *pod) claim(name string) (*corev1.PersistentVolumeClaim, error) {
	claim := &corev1.PersistentVolumeClaim{}
	return claim, p.runner.client.Get(p.ctx, client.ObjectKey{Namespace: p.runner.namespace, Name: name}, claim)
}

// await retries while try returns errWaiting.
func (p *pod) await(try func() error) error {
	for {
		if err := try(); !errors.Is(err, errWaiting) {
			return err
		}
		if err := p.pause(interval); err != nil {
			return err
		}
	}
}

// pause waits for d. It returns early with an error if the Pod must stop.
func (p *pod) pause(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-p.stop:
		return errStopped
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// signal sends a signal to the current process.
func (p *pod) signal(signal syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil {
		p.current.signal(signal)
	}
}

func (p *pod) running(process *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = process
}
