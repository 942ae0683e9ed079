package podrunner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// firstBackoff is the delay before the first restart of a container. It doubles up to maxBackoff.
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 2 * time.Second
	// probesPerPeriod is how often a probe runs in its period.
	probesPerPeriod = 10
	terminationLog  = "/dev/termination-log"
)

// untilDone runs an init container until it succeeds.
func (p *pod) untilDone(container corev1.Container) error {
	for backoff := firstBackoff; ; backoff = min(2*backoff, maxBackoff) {
		code, err := p.runOnce(container, nil)
		if err != nil || code == 0 {
			return err
		}
		if err := p.pause(backoff); err != nil {
			return err
		}
	}
}

// forever runs a container and restarts it whenever it ends.
func (p *pod) forever(container corev1.Container) error {
	for backoff := firstBackoff; ; backoff = min(2*backoff, maxBackoff) {
		if _, err := p.runOnce(container, container.ReadinessProbe); err != nil {
			return err
		}
		if err := p.pause(backoff); err != nil {
			return err
		}
	}
}

// runOnce runs a container to its end and returns its exit code. It returns an error if the Pod must stop.
func (p *pod) runOnce(container corev1.Container, ready *corev1.Probe) (int32, error) {
	var c child
	if err := p.await(func() (err error) { c, err = p.prepare(container); return err }); err != nil {
		return 0, err
	}
	log := filepath.Join(p.runner.dir, "logs", p.name+"."+container.Name)
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return 0, err
	}
	process, err := c.start(log, append(environment(container), addressVariable+"="+p.address.String()))
	if err != nil {
		return 0, err
	}
	p.running(process)
	defer p.running(nil)
	p.status.started(p.ctx, container.Name)
	stopped := p.watch(process, ready)
	if stopped != nil {
		return 0, stopped
	}
	p.status.ended(p.ctx, container.Name, process.exitCode(), terminationMessage(filepath.Join(c.Root, terminationLog), log))
	return process.exitCode(), nil
}

// watch runs the probe until the process ends or must stop.
func (p *pod) watch(process *process, ready *corev1.Probe) error {
	period := time.Second / probesPerPeriod
	if ready != nil {
		period = time.Duration(max(ready.PeriodSeconds, 1)) * time.Second / probesPerPeriod
	}
	tick := time.NewTicker(period)
	defer tick.Stop()
	failures := int32(0)
	for {
		select {
		case <-process.ended:
			return nil
		case <-p.ctx.Done():
			process.signal(syscall.SIGKILL)
			<-process.ended
			return p.ctx.Err()
		case <-p.stop:
			p.end(process)
			return errStopped
		case <-tick.C:
			if ready == nil {
				continue
			}
			if err := p.probe(ready); err != nil {
				failures++
			} else {
				failures = 0
			}
			p.status.ready(p.ctx, failures == 0, failures >= ready.FailureThreshold)
		}
	}
}

// end sends SIGTERM to the process, and SIGKILL after the grace period.
func (p *pod) end(process *process) {
	process.signal(syscall.SIGTERM)
	select {
	case <-process.ended:
		return
	case <-time.After(p.grace):
	case <-p.ctx.Done():
	}
	process.signal(syscall.SIGKILL)
	<-process.ended
}

func (p *pod) probe(probe *corev1.Probe) error {
	ctx, cancel := context.WithTimeout(p.ctx, time.Duration(max(probe.TimeoutSeconds, 1))*time.Second)
	defer cancel()
	if probe.TCPSocket != nil {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(p.address.String(), probe.TCPSocket.Port.String()))
		if err != nil {
			return err
		}
		return connection.Close()
	}
	if probe.HTTPGet == nil {
		return errors.New("podrunner supports only HTTP and TCP probes")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(p.address.String(), probe.HTTPGet.Port.String())+probe.HTTPGet.Path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		return errors.New(response.Status)
	}
	return nil
}

// prepare creates the root directory of a container and its volumes.
func (p *pod) prepare(container corev1.Container) (child, error) {
	program, ok := p.runner.program(container.Image)
	if !ok {
		p.status.waiting(p.ctx, container.Name, "ImagePullBackOff", "podrunner has no image "+container.Image)
		return child{}, errWaiting
	}
	c := child{Root: filepath.Join(p.dir, container.Name), Program: "/program", Args: container.Args}
	if len(container.Command) > 0 {
		c.Program, c.Args = container.Command[0], append(container.Command[1:len(container.Command):len(container.Command)], container.Args...)
	}
	expand, err := p.expander(container)
	if err != nil {
		return child{}, err
	}
	args, listen := make([]string, len(c.Args)), p.address.String()
	if p.address.Is6() {
		listen = "[" + listen + "]"
	}
	for i, arg := range c.Args {
		args[i] = expand.Replace(strings.ReplaceAll(arg, "0.0.0.0", listen))
	}
	c.Args = args
	c.Binds = []bind{{program, c.Program}}
	if container.Image == SeedImage {
		c.Binds = append(c.Binds, bind{"/proc", "/proc"}) // the seed starts itself as a child
	}
	for _, mount := range container.VolumeMounts {
		from, err := p.volume(mount.Name)
		if err != nil {
			p.status.waiting(p.ctx, container.Name, "ContainerCreating", err.Error())
			return child{}, errWaiting
		}
		subPath := mount.SubPath + expand.Replace(mount.SubPathExpr)
		if mount.SubPathExpr != "" && subPath == "" {
			p.status.waiting(p.ctx, container.Name, "CreateContainerConfigError", "missing value for "+strings.Trim(mount.SubPathExpr, "$()"))
			return child{}, errWaiting
		}
		c.Binds = append(c.Binds, bind{filepath.Join(from, subPath), mount.MountPath})
	}
	return c, writeSystemFiles(c.Root, p.runner.names.resolvConf(), p.runner.names.etcHosts("some."+p.spec.Subdomain+"."+p.runner.namespace+".svc"))
}

// expander replaces $(NAME) of the variables that have the value of one of the Pod's annotations.
func (p *pod) expander(container corev1.Container) (*strings.Replacer, error) {
	var live corev1.Pod
	var pairs []string
	for _, variable := range container.Env {
		if variable.ValueFrom == nil || variable.ValueFrom.FieldRef == nil {
			continue
		}
		if live.Name == "" {
			if err := p.runner.client.Get(p.ctx, client.ObjectKeyFromObject(p.status.object), &live); err != nil {
				if client.IgnoreNotFound(err) == nil {
					return nil, errWaiting // it is being deleted
				}
				return nil, err
			}
		}
		pairs = append(pairs, "$("+variable.Name+")", live.Annotations[annotationOf(variable.ValueFrom.FieldRef)])
	}
	return strings.NewReplacer(pairs...), nil
}

// writeSystemFiles writes the files that every container needs.
func writeSystemFiles(root, resolvConf, etcHosts string) error {
	var errs []error
	for _, dir := range []string{"etc", "dev", "tmp"} {
		errs = append(errs, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	return errors.Join(append(errs,
		os.WriteFile(filepath.Join(root, "etc/resolv.conf"), []byte(resolvConf), 0o600),
		os.WriteFile(filepath.Join(root, "etc/hosts"), []byte(etcHosts), 0o600),
		os.WriteFile(filepath.Join(root, terminationLog), nil, 0o600),
	)...)
}

// volume returns the directory of a volume of the Pod.
func (p *pod) volume(name string) (string, error) {
	own := filepath.Join(p.dir, "volumes", name)
	for _, volume := range p.spec.Volumes {
		switch {
		case volume.Name != name:
		case volume.PersistentVolumeClaim != nil:
			claim, err := p.claim(volume.PersistentVolumeClaim.ClaimName)
			return p.runner.ClaimDir(claim), err
		case volume.EmptyDir != nil:
			return own, os.MkdirAll(own, 0o700)
		case volume.Secret != nil:
			return own, p.writeSecret(own, volume.Secret.SecretName)
		case volume.Projected != nil:
			return own, p.writeProjected(own, volume.Projected)
		case volume.DownwardAPI != nil:
			return own, p.writeAnnotations(own, volume.DownwardAPI)
		}
	}
	return "", fmt.Errorf("volume %s does not exist or has a type that podrunner does not support", name)
}

func (p *pod) writeSecret(dir, name string) error {
	var secret corev1.Secret
	if err := p.runner.client.Get(p.ctx, client.ObjectKey{Namespace: p.runner.namespace, Name: name}, &secret); err != nil {
		return err
	}
	errs := []error{os.MkdirAll(dir, 0o700)}
	for key, value := range secret.Data {
		file := filepath.Join(dir, key)
		errs = append(errs, os.WriteFile(file+".new", value, 0o600), os.Rename(file+".new", file))
	}
	return errors.Join(errs...)
}

// writeProjected writes the files of Secrets. Those of a later source replace those of an earlier one.
func (p *pod) writeProjected(dir string, volume *corev1.ProjectedVolumeSource) error {
	errs := []error{os.MkdirAll(dir, 0o700)}
	for _, source := range volume.Sources {
		if len(source.Secret.Items) == 0 {
			errs = append(errs, p.writeSecret(dir, source.Secret.Name))
			continue
		}
		var secret corev1.Secret
		if err := p.runner.client.Get(p.ctx, client.ObjectKey{Namespace: p.runner.namespace, Name: source.Secret.Name}, &secret); err != nil {
			return err
		}
		for _, item := range source.Secret.Items {
			if value, has := secret.Data[item.Key]; has {
				file := filepath.Join(dir, item.Path)
				errs = append(errs, os.WriteFile(file+".new", value, 0o600), os.Rename(file+".new", file))
			}
		}
	}
	return errors.Join(errs...)
}

// writeAnnotations writes annotations of the Pod into files.
func (p *pod) writeAnnotations(dir string, volume *corev1.DownwardAPIVolumeSource) error {
	var live corev1.Pod
	if err := p.runner.client.Get(p.ctx, client.ObjectKeyFromObject(p.status.object), &live); err != nil {
		return err
	}
	errs := []error{os.MkdirAll(dir, 0o700)}
	for _, item := range volume.Items {
		file := filepath.Join(dir, item.Path)
		errs = append(errs, os.WriteFile(file+".new", []byte(live.Annotations[annotationOf(item.FieldRef)]), 0o600), os.Rename(file+".new", file))
	}
	return errors.Join(errs...)
}

// annotationOf returns the annotation that a field names.
func annotationOf(field *corev1.ObjectFieldSelector) string {
	return strings.TrimSuffix(strings.TrimPrefix(field.FieldPath, "metadata.annotations['"), "']")
}

// addressVariable has the address of the Pod. A seed that listened on all addresses would find its port in use by a member of another Pod.
const addressVariable = "PODRUNNER_ADDRESS"

func environment(container corev1.Container) []string {
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOSTNAME=" + container.Name}
	for _, variable := range container.Env {
		env = append(env, variable.Name+"="+variable.Value)
	}
	return env
}

// terminationMessage returns the container's termination message, or the end of its log if there is none.
func terminationMessage(path, log string) string {
	message, err := os.ReadFile(path)
	if err != nil || len(message) == 0 {
		message, _ = os.ReadFile(log)
	}
	return strings.ToValidUTF8(string(message[max(0, len(message)-maxMessage):]), "")
}

// maxMessage is the maximum length of a termination message in bytes.
const maxMessage = 2048
