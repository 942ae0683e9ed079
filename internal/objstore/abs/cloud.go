package abs

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
)

// azureCloud is one of Azure's clouds.
type azureCloud struct {
	name string
	// suffix of the host names of storage, after "<account>.blob.".
	suffix        string
	configuration cloud.Configuration
}

// clouds by the names that coreos/etcd-operator took. The first is the default.
var clouds = []azureCloud{
	{"AzurePublicCloud", "core.windows.net", cloud.AzurePublic},
	{"AzureChinaCloud", "core.chinacloudapi.cn", cloud.AzureChina},
	{"AzureUSGovernmentCloud", "core.usgovcloudapi.net", cloud.AzureGovernment},
}

// cloudOf finds a cloud by its name, and else by the host of an endpoint.
func cloudOf(name, endpoint string) (azureCloud, error) {
	var names []string
	for _, c := range clouds {
		if strings.EqualFold(name, c.name) {
			return c, nil
		}
		names = append(names, c.name)
	}
	if name != "" {
		return azureCloud{}, fmt.Errorf("the Secret's cloud is not known: write %s, or leave it out and write abs.endpoint", strings.Join(names, ", "))
	}
	if u, err := url.Parse(endpoint); err == nil {
		for _, c := range clouds {
			if c.has(u.Hostname()) {
				return c, nil
			}
		}
	}
	return clouds[0], nil
}

// Azures reports whether a host serves the blobs of an account in one of Azure's clouds.
func Azures(host string) bool {
	host = strings.TrimRight(strings.ToLower(host), ".")
	return slices.ContainsFunc(clouds, func(c azureCloud) bool { return c.has(host) })
}

// has reports whether a host serves blobs in the cloud.
func (c azureCloud) has(host string) bool {
	account, found := strings.CutSuffix(host, ".blob."+c.suffix)
	return found && accountName.MatchString(account)
}

var accountName = regexp.MustCompile(`^[a-z0-9]{3,24}$`)

// identified marks the errors of an identity, so that they are not taken for the store's.
type identified struct{ azcore.TokenCredential }
