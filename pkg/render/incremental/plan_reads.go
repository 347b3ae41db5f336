package incremental

import (
	"strings"
	"text/template/parse"
)

// reads are the parts of the data that a node reads.
type reads struct{ config, manifests, target, clusterType bool }

func (r reads) and(other reads) reads {
	return reads{r.config || other.config, r.manifests || other.manifests, r.target || other.target, r.clusterType || other.clusterType}
}

// readsOf returns the parts of the data that a node reads; ok is false if it changes variables that other nodes may read.
func readsOf(node parse.Node) (r reads, ok bool) {
	ok = true
	var walk func(node parse.Node, dotIsRoot bool)
	list := func(nodes []parse.Node, dotIsRoot bool) {
		for _, n := range nodes {
			walk(n, dotIsRoot)
		}
	}
	branch := func(b *parse.BranchNode, dotIsRoot, inside bool) {
		walk(b.Pipe, dotIsRoot)
		list(b.List.Nodes, inside)
		if b.ElseList != nil {
			list(b.ElseList.Nodes, dotIsRoot)
		}
	}
	walk = func(node parse.Node, dotIsRoot bool) {
		switch node := node.(type) {
		case *parse.ListNode:
			list(node.Nodes, dotIsRoot)
		case *parse.ActionNode:
			walk(node.Pipe, dotIsRoot)
		case *parse.PipeNode:
			ok = ok && !node.IsAssign
			for _, command := range node.Cmds {
				list(command.Args, dotIsRoot)
			}
		case *parse.IfNode:
			branch(&node.BranchNode, dotIsRoot, dotIsRoot)
		case *parse.WithNode:
			branch(&node.BranchNode, dotIsRoot, false)
		case *parse.RangeNode:
			branch(&node.BranchNode, dotIsRoot, false)
		case *parse.TemplateNode:
			if node.Pipe != nil {
				walk(node.Pipe, dotIsRoot)
			}
		case *parse.ChainNode:
			walk(node.Node, dotIsRoot)
		case *parse.DotNode:
			if dotIsRoot {
				r.field("")
			}
		case *parse.FieldNode:
			if dotIsRoot {
				r.field(node.Ident[0])
			}
		case *parse.VariableNode:
			if node.Ident[0] == "$" {
				r.field(strings.Join(node.Ident[1:min(2, len(node.Ident))], ""))
			}
		}
	}
	walk(node, true)
	return r, ok
}

// field records that a field of the data is read, all fields if the name is empty.
func (r *reads) field(name string) {
	switch name {
	case "Environment": // the same for all
	case "ConfigData":
		r.config = true
	case "ClusterType", "ClusterTypeLabels":
		r.clusterType = true
	case "Manifests", "Repo", "Branch", "Path":
		r.target, r.manifests = true, true
	case "DeploymentTargetName", "Workspace", "Workload", "Labels":
		r.target = true
	case "Namespace":
		r.target, r.clusterType = true, true
	default:
		*r = reads{true, true, true, true}
	}
}
