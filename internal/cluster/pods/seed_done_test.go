package pods

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// A standby is restarted with its node, or when its store does not answer. If these restarts counted as failures after it is done, the promotion would fail.
func TestASeedThatIsDoneHasNoFailures(t *testing.T) {
	pod := &corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{
		Name: SeedContainer, RestartCount: 3,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 0, Message: `{"timeline":1,"revision":42,"planned":true}`}},
	}}}}
	if s := seedOf(pod); s.Failures != 0 || s.Promoted == nil {
		t.Errorf("a seed that is done has %+v", s)
	}
	pod.Status.InitContainerStatuses[0].State = corev1.ContainerState{}
	if s := seedOf(pod); s.Failures != 3 {
		t.Errorf("a seed that was restarted has %+v", s)
	}
}

// What a seed leaves out of a write-ahead log may have been acknowledged to a client. Without its report, the status of the restore is silent about it.
func TestTheReportOfASeedThatHasReadAVolumeIsRead(t *testing.T) {
	pod := &corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: SeedContainer}}}}
	for message, want := range map[string]*v1beta2.VolumeRead{
		`{"volume":{"revision":42,"logEntries":7,"leftOutEntries":2,"firstLeftOutRevision":43}}`: {Revision: 42, LogEntries: 7, LeftOutEntries: 2, FirstLeftOutRevision: 43},
		`{"timeline":1,"revision":42,"planned":true}`:                                            nil,
		"the log of the container":                                                               nil,
		"":                                                                                       nil,
	} {
		pod.Status.InitContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: message}}
		s := seedOf(pod)
		if (s.Read == nil) != (want == nil) || want != nil && *s.Read != *want {
			t.Errorf("%s: got %+v, want %+v", message, s.Read, want)
		}
		if want != nil && s.Promoted != nil {
			t.Errorf("%s: it counts as a promotion: %+v", message, s.Promoted)
		}
	}
}
