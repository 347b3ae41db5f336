package reference

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/template"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// keysRead are the keys of manifests that templates read. all means that they may read any key.
type keysRead struct {
	keys map[string]bool
	all  bool
}

var (
	// readKey matches the reading of one key of the manifests, wholeData any other use of the manifests, or of all data.
	readKey   = regexp.MustCompile(`\.Manifests\.(\w+)|\b(?:index|get|hasKey) \$?\.Manifests "([^"]+)"`)
	wholeData = regexp.MustCompile(`\.Manifests\b|[\w"=(]\s+\.[\s)|}]|\{\{-?\s*\.\s*\||\$[\s)|}]`)
)

// add adds what the text of a template reads. It searches the text and not its parse tree: a text that reads a key in
// another way counts as one that may read any key.
func (k *keysRead) add(text string) {
	for _, match := range readKey.FindAllStringSubmatch(text, -1) {
		k.keys[match[1]+match[2]] = true
	}
	for field, key := range template.ManifestFields {
		if strings.Contains(text, "."+field) {
			k.keys[key] = true
		}
	}
	k.all = k.all || wholeData.MatchString(readKey.ReplaceAllString(text, ""))
}

// keysRead returns what the templates of a cluster type read.
func (t *Templates) keysRead() keysRead {
	read := keysRead{keys: map[string]bool{}, all: t.Unusable()}
	for _, one := range []*Template{t.reconciler, t.namespace, t.config} {
		if one == nil {
			continue
		}
		for _, manifest := range one.Manifests {
			for _, text := range manifest.Texts {
				read.add(text.Block.Value)
			}
		}
	}
	return read
}

// WarnUnusedManifests warns of keys of manifests that no template of the cluster types of their target reads and that are
// similar to one that is read. Other unused keys are common: applications serve several platforms.
func WarnUnusedManifests(fleet *model.Fleet, assignments []schedule.Assignment, templates map[*model.ClusterType]*Templates) diag.List {
	var diags diag.List
	byConfig := keysRead{keys: map[string]bool{}}
	for _, config := range fleet.ConfigMaps {
		for _, value := range config.Data { // which may contain templates
			if strings.Contains(value.Value, template.ActionStart) {
				byConfig.add(value.Value)
			}
		}
	}
	read, used := map[*model.ClusterType]keysRead{}, map[*model.DeploymentTarget]keysRead{}
	for _, a := range assignments {
		if byConfig.all || a.Target.Broken || len(otherKeys(a.Target)) == 0 {
			continue
		}
		if _, known := read[a.ClusterType]; !known {
			read[a.ClusterType] = templates[a.ClusterType].keysRead()
		}
		of := used[a.Target]
		if of.keys == nil {
			of.keys = maps.Clone(byConfig.keys)
		}
		maps.Copy(of.keys, read[a.ClusterType].keys)
		of.all = of.all || read[a.ClusterType].all
		used[a.Target] = of
	}
	for target, of := range used {
		for _, key := range otherKeys(target) {
			near := diag.Nearest(key, slices.Sorted(maps.Keys(of.keys)))
			if of.all || of.keys[key] || near == "" {
				continue
			}
			diags.Warning("unused-manifest-key", target.Manifests[key].At,
				fmt.Sprintf("manifests.%s of deployment target %q is not used by any template of its cluster types", diag.Shorten(key, 100), target.Name.Value),
				diag.Hint(fmt.Sprintf("did you mean %q?", near)))
		}
	}
	return diags
}

// otherKeys returns the keys of the manifests of a target except those that every target may have.
func otherKeys(t *model.DeploymentTarget) []string {
	return slices.DeleteFunc(slices.Collect(maps.Keys(t.Manifests)), func(key string) bool {
		return slices.Contains(slices.Collect(maps.Values(template.ManifestFields)), key)
	})
}
