package s3

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// markedCredentials marks the errors of a provider, because the SDK returns them without a type.
type markedCredentials struct{ aws.CredentialsProvider }

var _ aws.CredentialsProvider = markedCredentials{}

func (m markedCredentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	found, err := m.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		return found, &signingError{err: err}
	}
	return found, nil
}

// withFiles sets the credentials and the region from the two files of the AWS CLI.
func (c Config) withFiles() (Config, error) {
	if len(c.CredentialsFile) == 0 && len(c.ConfigFile) == 0 {
		return c, c.complete()
	}
	settings, err := defaultProfile(c.ConfigFile, "config")
	if err != nil {
		return c, err
	}
	// The credentials file has precedence, as in the AWS CLI.
	fromCredentials, err := defaultProfile(c.CredentialsFile, "credentials")
	if err != nil {
		return c, err
	}
	for key, value := range fromCredentials {
		settings[key] = value
	}
	if len(c.CredentialsFile) > 0 && len(fromCredentials) == 0 {
		return c, errors.New(`file "credentials" has no profile [default]`)
	}
	if c.AccessKeyID == "" {
		c.AccessKeyID = settings["aws_access_key_id"]
		c.SecretAccessKey = settings["aws_secret_access_key"]
		c.SessionToken = settings["aws_session_token"]
		if c.AccessKeyID == "" {
			return c, errors.New(`the profile [default] has no aws_access_key_id and aws_secret_access_key`)
		}
	}
	if c.Region == "" {
		c.Region = settings["region"]
	}
	return c, c.complete()
}

func (c Config) complete() error {
	if (c.AccessKeyID == "") != (c.SecretAccessKey == "") {
		return errors.New("an access key needs both its ID and its secret: one is missing")
	}
	return nil
}

// forbidden are settings of the AWS CLI that a Secret may not use: they run programs, read the operator's files, or use its
// identity.
var forbidden = []string{
	"credential_process", "role_arn", "source_profile", "credential_source",
	"web_identity_token_file", "sso_session", "sso_start_url", "sso_account_id", "login_session",
}

// defaultProfile reads the profile "default" of a file in the format of the AWS CLI. It accepts what the CLI accepts: keys
// in any case, and values in quotes or followed by a comment. It ignores lines before the first profile, and the last of
// two equal keys counts. Source: the SDK's "shared configuration file format".
//
// The SDK can only read files, and a Secret must not be written to a disk.
func defaultProfile(file []byte, name string) (map[string]string, error) {
	settings := map[string]string{}
	section, last := "", ""
	for line := range strings.Lines(strings.TrimPrefix(string(file), "\ufeff")) {
		line = strings.TrimRight(line, "\r\n")
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';' {
			continue
		}
		if header, ok := sectionName(trimmed); ok {
			section, last = header, ""
			continue
		}
		if section != "default" {
			continue
		}
		key, value, ok := property(trimmed)
		nested := line[0] == ' ' || line[0] == '\t'
		if !ok || nested && last != "" && settings[last] == "" {
			continue // a continuation, or a setting nested in another such as "s3 ="
		}
		settings[key], last = value, key
	}
	for _, key := range forbidden {
		if settings[key] != "" {
			return nil, fmt.Errorf("file %q sets %s, which is not allowed in a Secret: use aws_access_key_id and aws_secret_access_key", name, key)
		}
	}
	return settings, nil
}

// sectionName returns "default" for both "[default]" and "[profile default]".
func sectionName(line string) (string, bool) {
	line, _, _ = strings.Cut(line, "#")
	line, _, _ = strings.Cut(line, ";")
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "[") || !strings.HasSuffix(line, "]") || len(line) < 2 {
		return "", false
	}
	fields := strings.Fields(line[1 : len(line)-1])
	if len(fields) == 2 && fields[0] == "profile" {
		fields = fields[1:]
	}
	return strings.Join(fields, " "), true
}

func property(line string) (key, value string, ok bool) {
	for _, comment := range []string{" #", " ;", "\t#", "\t;"} {
		line, _, _ = strings.Cut(line, comment)
	}
	at := strings.IndexAny(line, "=:")
	if at < 0 {
		return "", "", false
	}
	value = strings.TrimSpace(line[at+1:])
	for _, quote := range []string{`"`, `'`} {
		if len(value) >= 2 && strings.HasPrefix(value, quote) && strings.HasSuffix(value, quote) {
			value = value[1 : len(value)-1]
			break
		}
	}
	return strings.ToLower(strings.TrimSpace(line[:at])), value, true
}
