package show

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/etcd-suite/etcd-operator/internal/plugin"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
)

// Check returns the command check.
func Check(p *session.Session) *cobra.Command {
	c := &cobra.Command{
		Use: "check", Short: "Check before an installation that Kubernetes and your rights suffice", Args: cobra.NoArgs, Example: "  kubectl etcd check",
		RunE: func(c *cobra.Command, _ []string) error {
			w, err := p.Connect()
			if err != nil {
				return err
			}
			facts, err := facts(c.Context(), w)
			if err != nil {
				return err
			}
			checks := core.Checks(facts)
			if done, err := p.Print(checks); done {
				return err
			}
			if err := core.RenderChecks(p.Out, checks); err != nil {
				return err
			}
			for _, check := range checks {
				if check.Result == core.Broken {
					return fmt.Errorf("the suite cannot be installed: %s: %s", check.Name, check.Detail)
				}
			}
			return nil
		},
	}
	return p.Formats(c, "json or yaml")
}

// facts reads what an installation depends on. Only an API server that does not answer is an error.
func facts(ctx context.Context, w *session.World) (core.Facts, error) {
	f := core.Facts{Unreadable: map[string]error{}}
	server, err := w.Core.Discovery().ServerVersion()
	if err != nil {
		return f, fmt.Errorf("the API server does not answer: %w. Nothing was read. Check --context", err)
	}
	f.Kubernetes = server.GitVersion
	groups, err := w.Core.Discovery().ServerGroups()
	if err != nil {
		return f, fmt.Errorf("the API server does not answer: %w. Nothing was read. Check --context", err)
	}
	for _, g := range groups.Groups {
		f.Groups = append(f.Groups, g.Name)
	}
	nodes, err := w.Core.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if f.Unreadable["nodes"] = err; err == nil {
		f.Nodes = nodes.Items
	}
	classes, err := w.Core.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if f.Unreadable["classes"] = err; err == nil {
		f.Classes = classes.Items
	}
	leases, err := w.Core.CoordinationV1().Leases(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if f.Unreadable["operators"] = err; err == nil {
		f.Operators = core.OperatorsOf(leases.Items)
	}
	f.Denied, f.Unreadable["rights"] = denied(ctx, w)
	return f, nil
}

// denied returns the rights of an installation that the user does not have.
func denied(ctx context.Context, w *session.World) ([]string, error) {
	var denied []string
	for _, need := range []authorizationv1.ResourceAttributes{
		{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
		{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"},
		{Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"},
		{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies"},
		{Group: "apps", Resource: "deployments", Namespace: operatorName},
		{Resource: "serviceaccounts", Namespace: operatorName},
	} {
		need.Verb = "create"
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &need}}
		answer, err := w.Core.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		if !answer.Status.Allowed {
			denied = append(denied, "create "+strings.TrimSuffix(need.Resource+"."+need.Group, "."))
		}
	}
	return denied, nil
}
