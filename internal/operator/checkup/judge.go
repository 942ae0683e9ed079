package checkup

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Judge decides what the facts mean for the release.
func Judge(request Request, seen Facts) []Finding {
	findings := []Finding{definitions(seen), rights(seen)}
	if request.Lease != "" {
		findings = append(findings, leads(request, seen.Lease))
	}
	return findings
}

func rights(seen Facts) Finding {
	f := Finding{Name: "Rights", Passed: len(seen.Denied) == 0, Detail: fmt.Sprintf("The operator has all %d that it needs.", seen.Asked)}
	if !f.Passed {
		f.Detail = fmt.Sprintf("The ServiceAccount of the operator may not %s. Set rbac.create=true, or grant the rights that the README of the chart lists.",
			some(seen.Denied))
	}
	return f
}

func leads(request Request, seen Lease) Finding {
	f := Finding{Name: "Leader"}
	const log = "Read its Pods and their log: kubectl get pods --namespace %s"
	switch {
	case apierrors.IsNotFound(seen.Err):
		f.Detail = fmt.Sprintf("No replica of the operator became leader within %s. "+log+".", request.Within, request.Namespace)
	case seen.Err != nil:
		f.Detail = fmt.Sprintf("The Lease %s cannot be read: %v.", request.Lease, seen.Err)
	case !seen.Renewed:
		f.Detail = fmt.Sprintf("The leader did not renew its Lease within %s, so no replica works. "+log+".", request.Within, request.Namespace)
	case seen.Version != request.Version:
		f.Detail = fmt.Sprintf("%s leads with version %s, and this release has %s. Wait until its rollout ends, or look for a second release that manages the "+
			"same objects.", seen.Holder, seen.Version, request.Version)
	default:
		f.Passed, f.Detail = true, fmt.Sprintf("%s leads with version %s.", seen.Holder, seen.Version)
	}
	return f
}
