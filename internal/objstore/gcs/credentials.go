package gcs

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/api/option"

	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// tokenURIs are Google's own servers that give tokens for a key.
var tokenURIs = []string{"", "https://oauth2.googleapis.com/token", "https://accounts.google.com/o/oauth2/token", "https://www.googleapis.com/oauth2/v4/token", "https://www.googleapis.com/oauth2/v3/token"}

// credentialsType accepts the two types that contain a key, and Google's own servers. Everything else makes the operator run programs,
// read files or call addresses, which a Secret must not do.
func credentialsType(file []byte) (option.CredentialsType, error) {
	var head struct {
		Type           string `json:"type"`
		TokenURI       string `json:"token_uri"`
		UniverseDomain string `json:"universe_domain"`
		PrivateKey     string `json:"private_key"`
	}
	if json.Unmarshal(file, &head) != nil {
		return "", errors.New("credentials.json is not valid JSON")
	}
	if err := pki.CheckKey([]byte(head.PrivateKey)); err != nil {
		return "", fmt.Errorf("credentials.json: %w", err)
	}
	kind := option.CredentialsType(head.Type)
	switch {
	case kind != option.ServiceAccount && kind != option.AuthorizedUser:
		return "", fmt.Errorf("credentials.json has the type %q: only service_account and authorized_user are allowed; to use a workload identity, name no Secret", head.Type)
	case !slices.Contains(tokenURIs, head.TokenURI):
		return "", fmt.Errorf("credentials.json has a token_uri that is not Google's, and the operator asks no other server for a token: remove token_uri, or write %s", tokenURIs[1])
	case head.UniverseDomain != "" && head.UniverseDomain != "googleapis.com":
		return "", errors.New("credentials.json has a universe_domain other than googleapis.com, to which the operator sends nothing: use a key of Google's public cloud")
	}
	return kind, nil
}
