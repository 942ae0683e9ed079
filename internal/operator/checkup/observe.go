package checkup

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

const renewal = 2 * time.Second // the interval of the operators

// Observe reads what Judge needs.
func Observe(ctx context.Context, config *rest.Config, request Request) (Facts, error) {
	c, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return Facts{}, fmt.Errorf("create a client of Kubernetes: %w", err)
	}
	var seen Facts
	if seen.Schemas, err = served(ctx, config, request.Within); err != nil {
		return seen, err
	}
	for _, scope := range request.Rights {
		if err := seen.ask(ctx, c, scope); err != nil {
			return seen, err
		}
	}
	if request.Lease != "" {
		seen.Lease = leader(ctx, c, request)
	}
	return seen, nil
}

// served waits until each kind is served with all fields, for as long as the request allows. The API server publishes the schemas of definitions some
// seconds after it serves them.
func served(ctx context.Context, config *rest.Config, within time.Duration) (found map[string]map[string]map[string]bool, err error) {
	failed := wait.PollUntilContextTimeout(ctx, renewal, within, true, func(ctx context.Context) (bool, error) {
		found, err = schemas(ctx, config)
		return definitions(Facts{Schemas: found}).Passed, err
	})
	if wait.Interrupted(failed) && ctx.Err() == nil {
		return found, nil // Judge says what is missing
	}
	return found, failed
}

// schemas returns nothing for a kind that is not served.
func schemas(ctx context.Context, config *rest.Config) (map[string]map[string]map[string]bool, error) {
	plain := rest.CopyConfig(config)
	plain.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion()
	raw, err := rest.UnversionedRESTClientFor(plain)
	if err != nil {
		return nil, fmt.Errorf("create a client of the schemas: %w", err)
	}
	content, err := raw.Get().AbsPath("/openapi/v3/apis", v1beta2.Group, v1beta2.GroupVersion.Version).DoRaw(ctx)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the schemas of %s: %w", v1beta2.Group, err)
	}
	type schema struct {
		Properties map[string]struct{ Properties map[string]any }
	}
	var answer struct {
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal(content, &answer); err != nil {
		return nil, fmt.Errorf("read the schemas of %s: %w", v1beta2.Group, err)
	}
	found := map[string]map[string]map[string]bool{}
	for name, s := range answer.Components.Schemas {
		kind, parts := name[strings.LastIndexByte(name, '.')+1:], map[string]map[string]bool{}
		for _, part := range []string{"spec", "status"} {
			parts[part] = map[string]bool{}
			for field := range s.Properties[part].Properties {
				parts[part][field] = true
			}
		}
		found[kind] = parts
	}
	return found, nil
}

// ask asks for each right of a scope, with the identity of the operator.
func (f *Facts) ask(ctx context.Context, c client.Client, scope Scope) error {
	for _, rule := range scope.Rules {
		for _, want := range attributes(scope.Namespace, rule) {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &want}}
			if err := c.Create(ctx, review); err != nil {
				return fmt.Errorf("ask whether the operator may %s %s: %w", want.Verb, want.Resource, err)
			}
			f.Asked++
			if !review.Status.Allowed {
				f.Denied = append(f.Denied, describe(want))
			}
		}
	}
	return nil
}

// attributes are the single rights of a rule.
func attributes(namespace string, rule rbacv1.PolicyRule) []authorizationv1.ResourceAttributes {
	var all []authorizationv1.ResourceAttributes
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			resource, sub, _ := strings.Cut(resource, "/")
			for _, verb := range rule.Verbs {
				for _, name := range names {
					all = append(all, authorizationv1.ResourceAttributes{
						Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: sub, Name: name,
					})
				}
			}
		}
	}
	return all
}

func describe(a authorizationv1.ResourceAttributes) string {
	what := a.Resource
	if a.Subresource != "" {
		what += "/" + a.Subresource
	}
	if a.Name != "" {
		what += " " + a.Name
	}
	if a.Namespace == "" {
		return a.Verb + " " + what
	}
	return a.Verb + " " + what + " in " + a.Namespace
}

// leader waits until a process of this version renews the Lease, for as long as the request allows.
func leader(ctx context.Context, c client.Client, request Request) Lease {
	var seen Lease
	var first string
	key := types.NamespacedName{Namespace: request.Namespace, Name: request.Lease}
	_ = wait.PollUntilContextTimeout(ctx, renewal, request.Within, true, func(ctx context.Context) (bool, error) {
		var lease coordinationv1.Lease
		seen.Err = c.Get(ctx, key, &lease)
		seen.Version = lease.Labels[versionLabel]
		if lease.Spec.HolderIdentity != nil {
			seen.Holder = *lease.Spec.HolderIdentity
		}
		if lease.Spec.RenewTime != nil {
			renewed := lease.Spec.RenewTime.String()
			seen.Renewed = first != "" && renewed != first && seen.Holder != ""
			if first == "" {
				first = renewed
			}
		}
		return seen.Err == nil && seen.Renewed && seen.Version == request.Version, nil
	})
	return seen
}
