package term

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"

	"github.com/google/shlex"
)

// Page shows a text with the pager of the user, as git does. Without a terminal or pager it writes the text to Stdout. It
// returns when the user leaves the pager.
func (o IO) Page(text []byte) error {
	out := o.Stdout
	if beside, ok := out.(besideProgress); ok {
		out = beside.w // the terminal; no progress is shown any more
	}
	if command := o.pager(); len(command) > 0 && len(text) > 0 {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), out, o.Stderr
		cmd.Env = append([]string{"LESS=FRX", "LV=-c"}, o.Variables()...) // the last value of a variable counts
		if err := cmd.Start(); err == nil {
			_ = cmd.Wait() // the user has seen what it showed
			return nil
		} else if command[0] != defaultPager {
			fmt.Fprintf(o.Stderr, "kalypso: pager %s: %v\n", command[0], err)
		}
	}
	_, err := out.Write(text)
	return err
}

// defaultPager is the pager of git.
const defaultPager = "less"

// PagerVariable is the environment variable that names the pager.
const PagerVariable = "KALYPSO_PAGER"

// pager returns the program that KALYPSO_PAGER names, else PAGER, else less, with its arguments. It returns nil for no
// pager: without a terminal, or if the variable is empty or cat.
func (o IO) pager() []string {
	if !o.StdoutTerminal || o.Environ == nil {
		return nil
	}
	named := map[string]string{}
	for _, variable := range o.Variables() {
		name, value, _ := strings.Cut(variable, "=")
		named[name] = strings.TrimSpace(value)
	}
	for _, name := range []string{PagerVariable, "PAGER"} {
		if value, set := named[name]; set && (value == "" || value == "cat") {
			return nil
		} else if command, err := shlex.Split(value); set && err == nil {
			return command
		}
	}
	return []string{defaultPager}
}
