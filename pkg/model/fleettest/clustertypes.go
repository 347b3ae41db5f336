package fleettest

import (
	"fmt"
	"strings"
)

type clusterType struct {
	name   string
	labels []label
}

// value returns that of a label, which every cluster type has.
func (c clusterType) value(key string) string {
	for _, l := range c.labels {
		if l.key == key {
			return l.value
		}
	}
	panic("no cluster type has the label " + key)
}

func sites() []string   { return []string{"store", "warehouse", "factory", "cloud"} }
func sizes() []string   { return []string{"small", "medium", "large", "huge"} }
func rings() []string   { return []string{"canary", "early", "main", "late"} }
func regions() []string { return []string{"west", "east", "north", "south", "islands", "abroad"} }

// addClusterTypes gives of each four in a row one to each site, one to each size and one to each
// ring, so that each of these labels is on a quarter of all.
func (g *generator) addClusterTypes() {
	for i := range g.size.ClusterTypes {
		block := i / 4
		site, region := sites()[i%4], regions()[g.IntN(len(regions()))]
		c := clusterType{fmt.Sprintf("%s-%s-%03d", site, region, i), []label{
			{"site", site},
			{"size", sizes()[(i+block)%4]},
			{"ring", rings()[(i+3*block+block/4)%4]},
			{"region", region},
			{"edge", fmt.Sprint(site == "store" || site == "warehouse")},
		}}
		g.clusterTypes = append(g.clusterTypes, c)
		add(g.fleet.Dev, "cluster-types/"+site+"/"+c.name+".yaml", object("ClusterType", c.name, c.labels)+"spec:\n"+
			"  reconciler: "+turn(block, "flux", "flux", "argo")+"\n"+
			"  namespaceService: "+turn(i, "default", "fair-share")+"\n"+
			configType(block))
	}
}

// configType names the form of the configuration, in most cases by not naming it.
func configType(i int) string {
	form := turn(i, "", "settings", "", "configMap", "envFile", "", "stringified", "", "exports", "")
	if form == "" {
		return ""
	}
	return "  configType: " + form + "\n"
}

// turn returns the choice whose turn it is.
func turn(i int, choices ...string) string { return choices[i%len(choices)] }

// without returns the values of a list but one, in flow style.
func without(value string, values []string) string {
	var rest []string
	for _, v := range values {
		if v != value {
			rest = append(rest, v)
		}
	}
	return "[" + strings.Join(rest, ", ") + "]"
}
