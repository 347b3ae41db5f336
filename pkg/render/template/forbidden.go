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
	forbid(forbidden{reason: "it reads the environment of this machine", hint: "put the value into a platform ConfigMap"},
		"env", "expandenv")
	forbid(forbidden{reason: "it uses the network", hint: "put the address into a platform ConfigMap"},
		"getHostByName")
	forbid(forbidden{reason: "it depends on the operating system", hint: "use base, clean, dir, ext or isAbs"},
		"osBase", "osClean", "osDir", "osExt", "osIsAbs")
	forbid(forbidden{reason: "it reads the clock or the time zone of this machine", hint: "put the date into a platform ConfigMap"},
		"ago", "date", "dateInZone", "dateModify", "date_in_zone", "date_modify", "htmlDate", "htmlDateInZone",
		"mustDateModify", "mustToDate", "must_date_modify", "now", "toDate", "unixEpoch")
	forbid(forbidden{reason: "its result differs in every run", hint: "put the value into a platform ConfigMap"},
		"randAlpha", "randAlphaNum", "randAscii", "randBytes", "randInt", "randNumeric", "shuffle", "uuidv4")
	forbid(forbidden{reason: "it generates keys or certificates, which differ in every run", hint: "do not store secrets in a GitOps repository"},
		"buildCustomCert", "genCA", "genCAWithKey", "genPrivateKey", "genSelfSignedCert", "genSelfSignedCertWithKey",
		"genSignedCert", "genSignedCertWithKey")
	forbid(forbidden{reason: "it processes secrets", hint: "do not store secrets in a GitOps repository"},
		"bcrypt", "decryptAES", "derivePassword", "encryptAES", "htpasswd")
	forbid(forbidden{reason: "it modifies its arguments", hint: "create a new map: {{ $d = merge (dict \"key\" \"value\") $d }}"},
		"set")
	forbid(forbidden{reason: "it modifies its arguments", hint: "create a new map: {{ $d = omit $d \"key\" }}"},
		"unset")
	return all
})

// helmHint explains the functions that only Helm has; "" for another name.
func helmHint(name string) string {
	const none = "text/template and sprig have no equivalent"
	hint := map[string]string{
		"fromYaml":      "a YAML config value is already an object",
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
