package s3

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/google/go-cmp/cmp"
)

// The test also reads each file with the SDK, whose result is the expected one.
var files = map[string]struct {
	credentials, config    string
	id, key, token, region string
}{
	"as the archived operator documented it": {
		credentials: "[default]\naws_access_key_id = AKIA\naws_secret_access_key = s3cr3t\n",
		config:      "[default]\nregion = eu-central-1\n",
		id:          "AKIA", key: "s3cr3t", region: "eu-central-1",
	},
	"with other profiles around": {
		credentials: "[work]\naws_access_key_id = W\naws_secret_access_key = w\n[default]\naws_access_key_id=D\naws_secret_access_key=d\n[home]\naws_access_key_id = H\naws_secret_access_key = h\n",
		config:      "[profile work]\nregion = us-east-2\n[profile default]\nregion = us-west-1\n",
		id:          "D", key: "d", region: "us-west-1",
	},
	"with a session token, comments and Windows line ends": {
		credentials: "# made by a tool\r\n[default] ; main\r\naws_access_key_id = A # the ID\r\n; aws_secret_access_key = old\r\naws_secret_access_key = k\r\naws_session_token = t==\r\n",
		config:      "[default]\r\nregion = eu-west-1\r\noutput = json\r\n",
		id:          "A", key: "k", token: "t==", region: "eu-west-1",
	},
	"with capitals, colons, quotes and no last newline": {
		credentials: "[default]\nAWS_ACCESS_KEY_ID: A\nAws_Secret_Access_Key = \"a/b+c=\"",
		id:          "A", key: "a/b+c=",
	},
	"indented, as a pasted block often is": {
		credentials: "[default]\n  aws_access_key_id = A\n  aws_secret_access_key = k\n",
		id:          "A", key: "k",
	},
	"with a setting inside a setting": {
		credentials: "[default]\naws_access_key_id = A\naws_secret_access_key = k\n",
		config:      "[default]\ns3 =\n  region = nested\n  addressing_style = path\nregion = eu-north-1\n",
		id:          "A", key: "k", region: "eu-north-1",
	},
	"with a region in the credentials file": {
		credentials: "[default]\naws_access_key_id = A\naws_secret_access_key = k\nregion = eu-south-1\n",
		config:      "[default]\nregion = eu-west-2\n",
		id:          "A", key: "k", region: "eu-south-1",
	},
	"with two equal keys": {
		credentials: "[default]\naws_access_key_id = A\naws_access_key_id = B\naws_secret_access_key = k\n[default]\naws_secret_access_key = l\n",
		id:          "B", key: "l",
	},
}

func TestCredentialsFilesAreReadAsTheSDKReadsThem(t *testing.T) {
	for name, test := range files {
		t.Run(name, func(t *testing.T) {
			got, err := Config{CredentialsFile: []byte(test.credentials), ConfigFile: []byte(test.config)}.withFiles()
			if err != nil {
				t.Fatal(err)
			}
			want := []string{test.id, test.key, test.token, test.region}
			if diff := cmp.Diff(want, []string{got.AccessKeyID, got.SecretAccessKey, got.SessionToken, got.Region}); diff != "" {
				t.Errorf("credentials differ (-want +got):\n%s", diff)
			}
		})
		t.Run(name+" (the SDK agrees)", func(t *testing.T) {
			got := readBySDK(t, test.credentials, test.config)
			want := []string{test.id, test.key, test.token, test.region}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the test is wrong (-want +SDK):\n%s", diff)
			}
		})
	}
}

func readBySDK(t *testing.T, credentials, configuration string) []string {
	t.Helper()
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "credentials"), filepath.Join(dir, "config")}
	for i, content := range []string{credentials, configuration} {
		if err := os.WriteFile(paths[i], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	profile, err := config.LoadSharedConfigProfile(t.Context(), "default", func(o *config.LoadSharedConfigOptions) {
		o.CredentialsFiles, o.ConfigFiles = paths[:1], paths[1:]
	})
	if err != nil {
		t.Fatal(err)
	}
	c := profile.Credentials
	return []string{c.AccessKeyID, c.SecretAccessKey, c.SessionToken, profile.Region}
}

func TestOpenRejectsInvalidCredentials(t *testing.T) {
	const secret = "VERYSECRET"
	for name, test := range map[string]struct {
		config Config
		want   string
	}{
		"no default profile": {
			Config{CredentialsFile: []byte("[work]\naws_access_key_id = A\naws_secret_access_key = " + secret + "\n")},
			"no profile [default]",
		},
		"no keys": {
			Config{CredentialsFile: []byte("[default]\nregion = x\n")},
			"no aws_access_key_id",
		},
		"an ID without its key": {
			Config{CredentialsFile: []byte("[default]\naws_access_key_id = " + secret + "\n")},
			"one is missing",
		},
		"a program to run": {
			Config{CredentialsFile: []byte("[default]\ncredential_process = /bin/sh -c 'echo " + secret + "'\n")},
			"credential_process",
		},
		"a role that uses the operator's identity": {
			Config{
				CredentialsFile: []byte("[default]\naws_access_key_id = A\naws_secret_access_key = " + secret + "\n"),
				ConfigFile:      []byte("[default]\nrole_arn = arn:aws:iam::1:role/x\ncredential_source = Environment\n"),
			},
			"role_arn",
		},
		"plain text": {
			Config{CredentialsFile: []byte(secret)},
			"no profile [default]",
		},
		"one plain key of two": {
			Config{AccessKeyID: secret},
			"one is missing",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), withBucket(test.config))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want one with %q", err, test.want)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("error shows the secret: %v", err)
			}
		})
	}
}

func withBucket(c Config) Config {
	c.Bucket = "bucket"
	return c
}

func FuzzDefaultProfile(f *testing.F) {
	for _, file := range files {
		f.Add([]byte(file.credentials))
		f.Add([]byte(file.config))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		settings, err := defaultProfile(file, "credentials")
		if err != nil {
			return
		}
		for key := range settings {
			if key != strings.ToLower(strings.TrimSpace(key)) {
				t.Errorf("key %q is not in its plain form", key)
			}
		}
	})
}
