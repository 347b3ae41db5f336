package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/config"
)

func newExplainConfig(e *cli.Host) *cobra.Command {
	opts := &explainFlags{}
	cmd := &cobra.Command{
		Use:   "config TARGET [KEY]",
		Short: "Show the configuration of a deployment target and the source of each value",
		Long: `Show the configuration of a deployment target on a cluster type, and the source of each value. With
KEY, show which values of that key were overridden or merged, and which ConfigMaps set it but do not
apply.

--cluster-type is optional if the target is scheduled on only one cluster type. If it is not
scheduled on that cluster type, the command shows the configuration that it would get.`,
		Example: `  kalypso explain config storefront-integration --env dev
  kalypso explain config checkout-stores LOG_LEVEL --env prod --cluster-type store-large`,
		Args: cli.Args(2, "TARGET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			key := ""
			if len(args) > 1 {
				key = args[1]
			}
			return opts.explain(cmd.Context(), e, func(q *inquiry) (Answer, error) { return opts.explainConfig(q, args[0], key) })
		},
		ValidArgsFunction: opts.completing(e, targetNames, configKeys),
	}
	opts.addReading(cmd, e)
	opts.addClusterType(cmd, e, "`cluster type` to show the configuration for")
	return cmd
}

// configKeys are those that the platform configuration of a fleet sets.
func configKeys(fleet *model.Fleet) []string {
	configurator, _ := config.NewConfigurator(fleet)
	return configurator.Keys()
}

// ConfigAnswer is the configuration of a target on a cluster type.
type ConfigAnswer struct {
	Name        string       `json:"name"`
	Target      objectResult `json:"deploymentTarget"`
	ClusterType objectResult `json:"clusterType"`
	// Scheduled reports whether the target is scheduled on the cluster type.
	Scheduled bool `json:"scheduled"`
	// Values are all, or that of the key that is asked about, which there may not be.
	Values []valueResult `json:"values"`
	// Others are the ConfigMaps that do not apply; with a key those that set it.
	Others []configMapResult `json:"otherConfigMaps"`

	key string
	// applied and all are the numbers of ConfigMaps that apply, and of all.
	applied, all int
}

// valueResult is a value with its origins.
type valueResult struct {
	Key string `json:"key"`
	// Value is the text, or for maps and lists YAML.
	Value string `json:"value"`
	// Origins are the entries for the key, in rising precedence.
	Origins []originResult `json:"origins"`
}

// originResult is a value as a ConfigMap has it.
type originResult struct {
	ConfigMap string     `json:"configMap"`
	At        diag.Place `json:"at"`
	// Labels are the labels that the ConfigMap requires.
	Labels []string `json:"labels"`
	Text   string   `json:"text"`
	// Effect is sets, replaces or merges.
	Effect string `json:"effect"`
}

// configMapResult is a ConfigMap that does not apply.
type configMapResult struct {
	ConfigMap string        `json:"configMap"`
	At        diag.Place    `json:"at"`
	Keys      []string      `json:"keys"`
	Misses    []config.Miss `json:"misses"`
}

func (f *explainFlags) explainConfig(q *inquiry, name, key string) (Answer, error) {
	target := q.fleet.Target(name)
	if target == nil {
		return nil, &notFoundError{kind: "deployment target", name: name, others: targetNames(q.fleet)}
	}
	clusterType, err := f.chooseClusterType(q, target)
	if err != nil {
		return nil, err
	}
	configurator, _ := config.NewConfigurator(q.fleet)
	if key != "" && !slices.Contains(configurator.Keys(), key) {
		return nil, &notFoundError{kind: "configuration key", name: key, others: configurator.Keys()}
	}
	a := &ConfigAnswer{
		Name: q.name, Target: newTargetObject(target), ClusterType: newObjectResult(&clusterType.Object),
		Scheduled: len(q.explainer.Reasons(target, clusterType)) > 0, key: key, Values: []valueResult{}, Others: []configMapResult{},
	}
	results := configurator.Explain(clusterType, target)
	a.addValues(configurator.Configure(clusterType, target), results)
	a.addOthers(results)
	return a, nil
}

// chooseClusterType returns --cluster-type, else the only cluster type on which the target is scheduled.
func (f *explainFlags) chooseClusterType(q *inquiry, target *model.DeploymentTarget) (*model.ClusterType, error) {
	if f.clusterType != "" {
		if clusterType := q.fleet.ClusterType(f.clusterType); clusterType != nil {
			return clusterType, nil
		}
		return nil, &notFoundError{kind: "cluster type", name: f.clusterType, others: clusterTypeNames(q.fleet)}
	}
	var on []*model.ClusterType
	var names []string
	for _, clusterType := range q.fleet.ClusterTypes {
		if len(q.explainer.Reasons(target, clusterType)) > 0 {
			on, names = append(on, clusterType), append(names, clusterType.Name.Value)
		}
	}
	if len(on) == 1 {
		return on[0], nil
	}
	if len(names) == 0 {
		return nil, cli.Usage("%s is not scheduled on any cluster type in %s: select one with --cluster-type", target.Name.Value, q.name)
	}
	return nil, cli.Usage("%s is scheduled on several cluster types in %s: select one with --cluster-type: %s", target.Name.Value, q.name, strings.Join(names, ", "))
}

func (a *ConfigAnswer) addValues(values *config.Values, results []config.Result) {
	labels := map[diag.Place][]string{}
	for _, v := range results {
		labels[v.At] = v.Labels
	}
	for _, key := range values.Keys() {
		if a.key != "" && key != a.key {
			continue
		}
		value := valueResult{Key: key, Value: values.Text(key)}
		for i, laid := range values.Stack(key) {
			effect := "replaces"
			switch {
			case i == 0:
				effect = "sets"
			case laid.Merged:
				effect = "merges"
			}
			required, ofKey := labels[laid.At] // keys of Azure App Configuration have their own labels
			if !ofKey {
				required = labels[laid.Config.Name.At]
			}
			value.Origins = append(value.Origins, originResult{
				laid.Config.Name.Value, laid.At, append([]string{}, required...), laid.Text, effect,
			})
		}
		a.Values = append(a.Values, value)
	}
}

func (a *ConfigAnswer) addOthers(results []config.Result) {
	all, applied := map[*model.ConfigMap]bool{}, map[*model.ConfigMap]bool{} // an export of Azure App Configuration may apply in part
	for _, v := range results {
		all[v.Config] = true
		if v.Applies() {
			applied[v.Config] = true
			continue
		}
		if a.key != "" && !slices.Contains(v.Keys, a.key) {
			continue
		}
		a.Others = append(a.Others, configMapResult{v.Config.Name.Value, v.At, append([]string{}, v.Keys...), v.Misses})
	}
	a.all, a.applied = len(all), len(applied)
}

func (a *ConfigAnswer) text(p term.Printer) {
	heading := fmt.Sprintf("%s: configuration of %s on %s", a.Name, a.Target.Name, a.ClusterType.Name)
	if a.key != "" {
		heading = fmt.Sprintf("%s: %s of %s on %s", a.Name, a.key, a.Target.Name, a.ClusterType.Name)
	}
	fmt.Fprintln(p, p.Heading(diag.Safe(heading)))
	if !a.Scheduled {
		fmt.Fprintln(p, "  not scheduled there; this is the configuration that it would get")
	}
	if a.key == "" {
		a.table(p)
	} else {
		a.value(p)
	}
	var rows [][]string
	for _, o := range a.Others {
		for i, m := range o.Misses {
			name := o.ConfigMap
			if i > 0 {
				name = ""
			}
			rows = append(rows, []string{name, m.Message, m.At.String()})
		}
	}
	if len(rows) > 0 {
		does := "ConfigMaps that do not apply"
		if a.key != "" {
			does = "ConfigMaps that set it, but do not apply"
		}
		p.Section(does)
		p.Rows(0, rows, "CONFIGMAP", "REASON", "SOURCE")
	}
}

// table prints a row for each value.
func (a *ConfigAnswer) table(p term.Printer) {
	p.Section(fmt.Sprintf("%s, from %d of %s", diag.Plural(len(a.Values), "key"), a.applied, diag.Plural(a.all, "ConfigMap")))
	var rows [][]string
	for _, v := range a.Values {
		last := v.Origins[len(v.Origins)-1]
		over := ""
		if below := len(v.Origins) - 1; below > 0 {
			over = fmt.Sprintf("%s %d", last.Effect, below)
		}
		const widest = 60
		rows = append(rows, []string{v.Key, term.Word(firstLine(v.Value), widest), last.ConfigMap, over, last.At.String()})
	}
	p.Rows(0, rows, "KEY", "VALUE", "CONFIGMAP", "EFFECT", "SOURCE")
}

// firstLine is the first line of a text, with an ellipsis if others follow.
func firstLine(text string) string {
	line, rest, _ := strings.Cut(text, "\n")
	if strings.TrimSpace(rest) != "" {
		line += " …"
	}
	return line
}

// value prints one value and its sources.
func (a *ConfigAnswer) value(p term.Printer) {
	if len(a.Values) == 0 {
		p.Section("no ConfigMap that applies sets it")
		return
	}
	v := a.Values[0]
	fmt.Fprintln(p)
	p.Indented(v.Value, "  ")
	p.Section("sources, lowest precedence first")
	for _, o := range v.Origins {
		fmt.Fprintf(p, "  %s %s  %s\n", diag.Safe(o.ConfigMap), diag.Safe(o.requirements()), p.Faint(diag.Safe(o.At.String())))
		fmt.Fprintf(p, "    %s\n", o.Effect)
		p.Indented(o.Text, "      ")
	}
}

// requirements are the labels that a ConfigMap requires.
func (o originResult) requirements() string {
	if len(o.Labels) == 0 {
		return "(for all)"
	}
	return "(" + strings.Join(o.Labels, ", ") + ")"
}
