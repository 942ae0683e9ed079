package planning

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Otherwise a user would read that something has just begun to fail, in each pass.
func TestAConditionKeepsTheTimeOfItsTransitionWhileItsStatusIsTheSame(t *testing.T) {
	var list []metav1.Condition
	first, later := metav1.Unix(100, 0), metav1.Unix(200, 0)
	Conditions{List: &list, Generation: 1, Now: first, Longest: 10}.False("Ready", "Pending", "")
	c := Conditions{List: &list, Generation: 2, Now: later, Longest: 10}
	c.False("Ready", "Retrying", strings.Repeat("x", 11))
	if got := c.Find("Ready"); !got.LastTransitionTime.Equal(&first) || got.ObservedGeneration != 2 || got.Reason != "Retrying" || got.Message != strings.Repeat("x", 10)+"…" {
		t.Errorf("the condition is %+v", got)
	}
	c.True("Ready", "Done", "")
	if got := c.Find("Ready"); !got.LastTransitionTime.Equal(&later) || !c.Is("Ready") {
		t.Errorf("%s after the transition: %+v", later.Format(time.RFC3339), got)
	}
	c.Remove("Ready")
	if c.Find("Ready") != nil || c.Is("Ready") {
		t.Errorf("the condition is still there: %+v", list)
	}
}
