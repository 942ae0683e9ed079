package session

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
)

func (w *World) Log(ctx context.Context, pod string, since time.Duration, tail int64) (string, error) {
	options := &corev1.PodLogOptions{Container: "etcd", Timestamps: true}
	if tail >= 0 {
		options.TailLines = &tail
	}
	if seconds := int64(since.Seconds()); seconds > 0 {
		options.SinceSeconds = &seconds
	}
	raw, err := w.Core.CoreV1().Pods(w.Namespace).GetLogs(pod, options).DoRaw(ctx)
	return string(raw), err
}

func (w *World) EventsOf(ctx context.Context, c v1beta2.EtcdCluster) ([]corev1.Event, error) {
	o, err := w.Objects(ctx, c, time.Time{}, false)
	if err != nil {
		return nil, err
	}
	var all corev1.EventList
	if err := w.List(ctx, &all, client.InNamespace(w.Namespace)); err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	return core.EventsOf(core.Named(o), all.Items), nil
}
