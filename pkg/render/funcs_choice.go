package render

// choiceFunctions are sprig's functions that choose between values or tell what they are.
func choiceFunctions() []function {
	functions := named("deepEqual")
	for _, name := range []string{
		"all", "any", "coalesce", "default", "empty", "kindIs", "kindOf", "ternary", "typeIs", "typeIsLike", "typeOf",
	} {
		functions = append(functions, function{name: name, free: true})
	}
	return functions
}
