package cluster

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestUnready(t *testing.T) {
	const start = "2026-01-02T03:04:05Z"
	since, err := time.Parse(time.RFC3339Nano, "2026-01-02T03:04:05.6Z")
	if err != nil {
		t.Fatal(err)
	}
	object := func(spec, status, heartbeat string) string {
		return `{"metadata":{"name":"node-1"},"spec":{` + spec + `},"status":{"conditions":[` +
			`{"type":"Ready","status":"` + status + `","message":"because","lastHeartbeatTime":"` + heartbeat + `"}]}}`
	}
	for name, tc := range map[string]struct{ node, want string }{
		"accepts a node that reports Ready":                       {object("", "True", start), ""},
		"refuses a node that is not registered":                   {`{"metadata":{"name":"node-9"}}`, "not registered"},
		"refuses a node that has not reported its status":         {`{"metadata":{"name":"node-1"}}`, "has not reported its status yet"},
		"refuses a node that is not Ready and returns its reason": {object("", "False", start), "because"},
		"refuses a node that does not accept Pods yet":            {object(`"taints":[{"key":"node.kubernetes.io/not-ready"}]`, "True", start), "taint"},
		"accepts a node with a taint of a user":                   {object(`"taints":[{"key":"example.com/mine"}]`, "True", start), ""},
		"refuses a node that was Ready only before its restart":   {object("", "True", "2026-01-02T03:04:04Z"), "since it was started"},
	} {
		t.Run(name, func(t *testing.T) {
			var o nodeObject
			if err := json.Unmarshal([]byte(tc.node), &o); err != nil {
				t.Fatal(err)
			}
			got := nodeList{Items: []nodeObject{o}}.unready(nodesUpTo(1), since)
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	pod := func(node, ready, started string) string {
		return `{"spec":{"nodeName":"` + node + `"},"status":{"containerStatuses":[{"ready":` + ready + `,"state":{"running":{"startedAt":"` + started + `"}}}]}}`
	}
	const now, before = "2026-01-02T03:04:05Z", "2026-01-02T03:04:04Z"
	for name, tc := range map[string]struct{ pods, want string }{
		"accepts a ready Pod on the node":                       {pod("node-1", "true", now), ""},
		"ignores a Pod that is not ready":                       {pod("node-1", "false", now), "node-1"},
		"ignores a Pod on another node":                         {pod("node-2", "true", now), "node-1"},
		"ignores a Pod that was started before the restart":     {pod("node-1", "true", before), "node-1"},
		"ignores a Pod without containers":                      {`{"spec":{"nodeName":"node-1"}}`, "node-1"},
		"accepts a new Pod next to one from before the restart": {pod("node-1", "true", before) + "," + pod("node-1", "true", now), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var l podList
			if err := json.Unmarshal([]byte(`{"items":[`+tc.pods+`]}`), &l); err != nil {
				t.Fatal(err)
			}
			if got := l.missing(nodesUpTo(1), since); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestCommand(t *testing.T) {
	t.Run("starts the first program of a node in a mount namespace with the node's mounts", func(t *testing.T) {
		got := strings.Join(command(program{name: "c", unit: "lk-node-1", mounts: "mount x", args: []string{"containerd", "-v"}}), " ")
		want := "nsenter --net=/run/netns/lk-node-1 -- unshare --mount --propagation private -- /bin/sh -euc mount x\nexec \"$@\" c containerd -v"
		if got != want {
			t.Errorf("got %s", got)
		}
	})
	t.Run("starts the other programs in the mount namespace of the first", func(t *testing.T) {
		got := strings.Join(command(program{name: "k", unit: "lk-node-1", join: 42, args: []string{"kubelet"}}), " ")
		if want := "nsenter --net=/run/netns/lk-node-1 --mount=/proc/42/ns/mnt -- kubelet"; got != want {
			t.Errorf("got %s", got)
		}
	})
}

func TestNodeStatus(t *testing.T) {
	for want, s := range map[string]NodeStatus{
		"n: running":                       {Name: "n", Running: true, Joined: true},
		"n: running, cut off, disk filled": {Name: "n", Running: true, Filled: true},
		"n: running, frozen":               {Name: "n", Running: true, Joined: true, Frozen: true},
		"n: stopped":                       {Name: "n"},
	} {
		if got := s.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
