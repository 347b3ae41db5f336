package yamldoc

// Limits bound what one file may hold, so that no text can exhaust the machine. The zero value of a number means no limit.
type Limits struct {
	Documents int  // YAML documents in one file
	Nesting   int  // depth of maps and lists within each other
	Nodes     int  // YAML nodes of one document after its aliases are expanded
	Aliases   bool // whether YAML aliases are allowed at all
}
