package template

import "sync"

// forbidden says why templates may not call a function that sprig has.
type forbidden struct {
	reason, hint string
}

// forbiddenFunctions are all functions of sprig that are not in the catalogue, by name.
var forbiddenFunctions = sync.OnceValue(func() map[string]forbidden {
	all := make(map[string]forbidden)
	forbid := func(why forbidden, names ...string) {
		for _, name := range names {
			all[name] = why
		}
	}
	forbid(forbidden{reason: "it reads the environment of the machine that renders", hint: "put the value into a platform ConfigMap"},
		"env", "expandenv")
	forbid(forbidden{reason: "it asks the network", hint: "put the address into a platform ConfigMap"},
		"getHostByName")
	forbid(forbidden{reason: "it depends on the operating system that renders", hint: "base, clean, dir, ext and isAbs do the same everywhere"},
		"osBase", "osClean", "osDir", "osExt", "osIsAbs")
	forbid(forbidden{reason: "it reads the clock or the time zone of the machine that renders", hint: "put the date into a platform ConfigMap"},
		"ago", "date", "dateInZone", "dateModify", "date_in_zone", "date_modify", "htmlDate", "htmlDateInZone",
		"mustDateModify", "mustToDate", "must_date_modify", "now", "toDate", "unixEpoch")
	forbid(forbidden{reason: "its result differs from run to run", hint: "put the value into a platform ConfigMap"},
		"randAlpha", "randAlphaNum", "randAscii", "randBytes", "randInt", "randNumeric", "shuffle", "uuidv4")
	forbid(forbidden{reason: "it makes keys or certificates, which differ from run to run", hint: "secrets do not belong into a GitOps repository"},
		"buildCustomCert", "genCA", "genCAWithKey", "genPrivateKey", "genSelfSignedCert", "genSelfSignedCertWithKey",
		"genSignedCert", "genSignedCertWithKey")
	forbid(forbidden{reason: "it works on secrets", hint: "secrets do not belong into a GitOps repository"},
		"bcrypt", "decryptAES", "derivePassword", "encryptAES", "htpasswd")
	forbid(forbidden{reason: "it writes into its arguments", hint: "make a new map: {{ $d = merge (dict \"key\" \"value\") $d }}"},
		"set")
	forbid(forbidden{reason: "it writes into its arguments", hint: "make a new map: {{ $d = omit $d \"key\" }}"},
		"unset")
	return all
})

// helmHint explains the functions that only Helm has; "" for another name.
func helmHint(name string) string {
	const none = "text/template and sprig have none like it"
	hint := map[string]string{
		"fromYaml":      "a config value that is YAML is an object already",
		"include":       "use {{ template }}",
		"required":      "use {{ if }} and fail",
		"tpl":           `a result that contains "{{" is rendered again anyway`,
		"fromJsonArray": none, "fromToml": none, "fromYamlArray": none, "lookup": none, "mustToToml": none,
		"mustToYaml": none, "toToml": none, "toYamlPretty": none,
	}[name]
	if hint == "" {
		return ""
	}
	return "this is a function of Helm; " + hint
}
