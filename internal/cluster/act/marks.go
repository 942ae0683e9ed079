package act

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/command"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// relabel brings a Pod's labels and annotations to what the spec asks; the Pod runs on.
func (p *podActs) relabel(ctx context.Context, v *view.View, name string) error {
	var pod corev1.Pod
	if err := p.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &pod); err != nil {
		return view.Wrap("read", &pod, client.IgnoreNotFound(err))
	}
	patch, err := json.Marshal(pods.RelabelPatch(v.State, &pod))
	if err != nil {
		return fmt.Errorf("encode the labels of Pod %s: %w", name, err)
	}
	return view.Wrap("label", &pod, p.Client.Patch(ctx, &pod, client.RawPatch(types.MergePatchType, patch)))
}

// markLoaded marks a Pod with the fingerprint of its certificates, so that its kubelet reads its Secrets.
func (p *podActs) markLoaded(ctx context.Context, v *view.View, step steps.LoadCertificates) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: step.Name}}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, pods.AnnotationLoaded, step.Loaded)
	return view.Wrap("mark", pod, p.Client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch)))
}

// promoteStandby marks the Pod of a standby, so that its init container promotes it. The kubelet writes the annotation into a file of the container.
func (p *podActs) promoteStandby(ctx context.Context, v *view.View, step steps.PromoteStandby) error {
	return p.annotateMember(ctx, v, step.Name, "promote", map[string]string{pods.AnnotationPromote: string(step.Promotion())})
}

// addToService adds the label that the client Service selects.
func (p *podActs) addToService(ctx context.Context, v *view.View, name string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: name}}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"true"}}}`, pods.LabelVoter)
	return view.Wrap("label", pod, p.Client.Patch(ctx, pod, client.RawPatch("application/merge-patch+json", patch)))
}

// removeFromService removes that label.
func (p *podActs) removeFromService(ctx context.Context, v *view.View, name string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: name}}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:null}}}`, pods.LabelVoter)
	return view.Wrap("label", pod, client.IgnoreNotFound(p.Client.Patch(ctx, pod, client.RawPatch("application/merge-patch+json", patch))))
}

// releaseMember lets the Pod of a member that was added start etcd. Its volume counts as used first: if the operator is killed
// in between, the volume is not given to another member, and the Pod is released in the next pass.
func (p *podActs) releaseMember(ctx context.Context, v *view.View, name string) error {
	var pod corev1.Pod
	if err := p.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &pod); err != nil {
		return view.Wrap("read", &pod, client.IgnoreNotFound(err))
	}
	if v.Durable() {
		if err := p.markUsed(ctx, v, name); err != nil {
			return err
		}
	}
	return p.annotate(ctx, &pod, "release", map[string]string{pods.AnnotationAdded: pods.WholeVolume, pods.AnnotationInitialCluster: command.JoinPeers(v.State, name)})
}

// forbidEmptyStart changes the annotation of a Pod whose member has started, so that no container of it starts without data. The Pod runs
// on.
func (p *podActs) forbidEmptyStart(ctx context.Context, v *view.View, name string) error {
	return p.annotateMember(ctx, v, name, "annotate", map[string]string{pods.AnnotationInitialCluster: command.RejoinOnly})
}

// annotateMember is annotate for the Pod of a member, if there is one.
func (p *podActs) annotateMember(ctx context.Context, v *view.View, name, action string, annotations map[string]string) error {
	var pod corev1.Pod
	if err := p.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &pod); err != nil {
		return view.Wrap("read", &pod, client.IgnoreNotFound(err))
	}
	return p.annotate(ctx, &pod, action, annotations)
}

// annotate sets annotations of a Pod that was read, and never those of another Pod with its name. The action is a word for the error.
func (p *podActs) annotate(ctx context.Context, pod *corev1.Pod, action string, annotations map[string]string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": annotations}})
	if err != nil {
		return fmt.Errorf("encode the annotations of Pod %s: %w", pod.Name, err)
	}
	return view.Wrap(action, pod, client.IgnoreNotFound(p.Client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch))))
}
