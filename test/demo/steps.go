package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"github.com/etcd-suite/etcd-operator/test/stack"
)

const (
	keys = 1000
	// parallelWrites is how many keys are written at once. etcd then saves several with one write to its disk.
	parallelWrites = 20
	// readLimit is the timeout for reading every key at once.
	readLimit = 30 * time.Second
)

func (d *demo) kubernetes(ctx context.Context) (err error) {
	d.stack, err = stack.Open(ctx, os.Stdout, "kubernetes", "containerd", "coredns", "directories", "etcd-3.6", "cni", "helm", "versitygw")
	if err != nil {
		return err
	}
	d.forgotten = make(chan error, 1)
	go func() { d.forgotten <- d.forget(ctx) }()
	return nil
}

// forget deletes what an earlier demo left, while the images are built. Kubernetes needs 20 s for a namespace with Pods, and
// 5 s for one without, so the objects are deleted first.
func (d *demo) forget(ctx context.Context) error {
	for _, kinds := range []string{"etcdrestores,etcdbackups,etcdclusters", "persistentvolumeclaims"} {
		if _, err := d.stack.Kubectl(ctx, "delete", kinds, "--all", "--namespace", namespace, "--ignore-not-found", "--wait=false"); err != nil && !strings.Contains(err.Error(), "the server doesn't have a resource type") {
			return err
		}
	}
	if _, err := d.stack.Kubectl(ctx, "delete", "pods", "--all", "--namespace", namespace, "--timeout", waitLimit); err != nil {
		return err
	}
	_, err := d.stack.Kubectl(ctx, "delete", "namespace", namespace, "--ignore-not-found", "--timeout", waitLimit)
	return err
}

func (d *demo) images(ctx context.Context) error {
	return d.stack.LoadImages(ctx)
}

func (d *demo) objectStore(ctx context.Context) (err error) {
	d.store, err = d.stack.StartS3(ctx)
	return err
}

func (d *demo) install(ctx context.Context) error {
	printf("helm upgrade --install %s charts/etcd-operator -n %s", stack.Release, stack.Namespace)
	return d.stack.Install(ctx)
}

// createCluster first waits until the namespace of an earlier demo is deleted, and deletes its snapshots, so that the demo can be
// repeated.
func (d *demo) createCluster(ctx context.Context) error {
	if err := <-d.forgotten; err != nil {
		return fmt.Errorf("delete what an earlier demo left: %w", err)
	}
	if err := d.emptyStore(ctx); err != nil {
		return err
	}
	if _, err := d.stack.Kubectl(ctx, "create", "namespace", namespace); err != nil {
		return err
	}
	applied := time.Now()
	if err := d.apply(ctx, "examples/etcdcluster.yaml"); err != nil {
		return err
	}
	if err := d.wait(ctx, "etcdcluster/"+cluster, "Ready"); err != nil {
		return err
	}
	d.show(ctx, "etcdclusters,pods,pvc")
	d.prove("A cluster of three members is created from one manifest", "Ready after %s", time.Since(applied).Round(time.Second))
	var err error
	if d.tls, err = d.stack.ClientTLS(ctx, namespace, cluster); err != nil {
		return err
	}
	d.etcd, err = d.stack.Etcd(ctx, namespace, cluster, d.tls)
	return err
}

func (d *demo) emptyStore(ctx context.Context) error {
	objects, err := d.store.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: aws.String(stack.Bucket)})
	if err != nil {
		return fmt.Errorf("list objects of an earlier demo: %w", err)
	}
	for _, object := range objects.Contents {
		if _, err := d.store.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String(stack.Bucket), Key: object.Key}); err != nil {
			return fmt.Errorf("delete object of an earlier demo: %w", err)
		}
	}
	return nil
}

func (d *demo) write(ctx context.Context) error {
	writers, writing := errgroup.WithContext(ctx)
	writers.SetLimit(parallelWrites)
	for i := range keys {
		writers.Go(func() error {
			if _, err := d.etcd.Put(writing, key(i), value(i)); err != nil {
				return fmt.Errorf("put %s: %w", key(i), err)
			}
			return nil
		})
	}
	if err := writers.Wait(); err != nil {
		return err
	}
	response, err := d.etcd.Get(ctx, key(0))
	if err != nil {
		return fmt.Errorf("read the revision: %w", err)
	}
	d.revision = response.Header.Revision
	printf("%d keys are written; the cluster is at revision %d", keys, d.revision)
	return nil
}

func (d *demo) backup(ctx context.Context) error {
	if err := d.apply(ctx, "examples/secret-s3.yaml", "examples/etcdbackup-s3.yaml"); err != nil {
		return err
	}
	if err := d.wait(ctx, "etcdbackup/example", "Complete"); err != nil {
		return err
	}
	d.show(ctx, "etcdbackups")
	d.prove("A snapshot is saved in S3 and proven before it counts", "revision %d", d.revision)
	return nil
}

func (d *demo) destroy(ctx context.Context) error {
	deleted, err := d.etcd.Delete(ctx, "", clientv3.WithFromKey())
	if err != nil {
		return fmt.Errorf("delete every key: %w", err)
	}
	for i := range 10 {
		if _, err := d.etcd.Put(ctx, fmt.Sprintf("unwanted-%d", i), "x"); err != nil {
			return fmt.Errorf("write unwanted key %d: %w", i, err)
		}
	}
	printf("%d keys are deleted, 10 unwanted keys are written", deleted.Deleted)
	return nil
}

func (d *demo) restore(ctx context.Context) error {
	outage := measureOutage(ctx, d.etcd)
	if err := d.apply(ctx, "examples/etcdrestore-s3.yaml"); err != nil {
		return err
	}
	if err := d.wait(ctx, "etcdrestore/example", "Complete"); err != nil {
		return err
	}
	longest, reads := outage()
	// A port that kubectl forwarded to an old member closed with that member.
	var err error
	if d.etcd, err = d.stack.Etcd(ctx, namespace, cluster, d.tls); err != nil {
		return err
	}
	d.show(ctx, "etcdrestores,etcdclusters,pods,pvc")
	printf("a client read %d times during the restore; its longest time without a response was %s", reads, longest.Round(10*time.Millisecond))
	d.prove("Clients are served while the restore runs", "%d reads, %s without a response at most", reads, longest.Round(10*time.Millisecond))
	return nil
}

func (d *demo) readBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	response, err := d.etcd.Get(ctx, "", clientv3.WithFromKey())
	if err != nil {
		return fmt.Errorf("read every key: %w", err)
	}
	found := make(map[string]string, len(response.Kvs))
	for _, kv := range response.Kvs {
		found[string(kv.Key)] = string(kv.Value)
	}
	var wrong []error
	for i := range keys {
		if found[key(i)] != value(i) {
			wrong = append(wrong, fmt.Errorf("key %s has the value %q, expected %q", key(i), found[key(i)], value(i)))
		}
		delete(found, key(i))
	}
	for name := range found {
		wrong = append(wrong, fmt.Errorf("key %s exists, but the snapshot does not contain it", name))
	}
	if response.Header.Revision <= d.revision {
		wrong = append(wrong, fmt.Errorf("the revision after the restore is %d, expected more than %d: watchers would miss changes", response.Header.Revision, d.revision))
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	d.prove("A restore brings back exactly what the snapshot holds", "%d of %d keys, none other", keys, keys)
	d.prove("Watchers can detect the restore", "revision %d to %d", d.revision, response.Header.Revision)
	printf("all %d keys are restored, and no other key exists; the revision rose from %d to %d, so watchers detect the restore", keys, d.revision, response.Header.Revision)
	return nil
}

func key(i int) string   { return fmt.Sprintf("demo/key-%04d", i) }
func value(i int) string { return strings.Repeat(fmt.Sprintf("value-%04d ", i), 8) }
