package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kalypso-gitops/kalypso/pkg/model/fleettest"
)

// The names of the tasks in the table.
const (
	validateTask = "validate"
	renderTask   = "render --output-dir"
	tarTask      = "tar -x"
)

// row is a line of the table.
type row struct {
	fleet, task string
	assignments int
	cost        cost
	// compared says how the time is to that of something else; empty if there is nothing.
	compared string
}

func describe(size fleettest.Size) string {
	if size.Unused > 0 {
		return fmt.Sprintf("%s, %s unused", size.Name, thousands(size.Unused))
	}
	return size.Name
}

// rows returns one for each task. Rendering is compared with tar.
func rows(size fleettest.Size, tasks []*task) []row {
	var all []row
	for _, t := range tasks {
		r := newRow(size, t)
		if t.name == renderTask {
			r.compared = compare(r.cost, find(tasks, tarTask), tarTask)
		}
		all = append(all, r)
	}
	return all
}

// rowsBeside returns those of a fleet with unused objects. Each task is compared with the same without.
func rowsBeside(size fleettest.Size, tasks, without []*task) []row {
	var all []row
	for _, t := range tasks {
		r := newRow(size, t)
		r.compared = compare(r.cost, find(without, t.name), "without")
		all = append(all, r)
	}
	return all
}

func newRow(size fleettest.Size, t *task) row {
	return row{fleet: describe(size), task: t.name, assignments: size.Assignments(), cost: median(t.costs)}
}

func find(tasks []*task, name string) cost {
	for _, t := range tasks {
		if t.name == name {
			return median(t.costs)
		}
	}
	panic("there is no task " + name)
}

func compare(c, with cost, name string) string {
	return fmt.Sprintf("%.2f × %s", c.wall.Seconds()/with.wall.Seconds(), name)
}

// printTable writes a table in Markdown whose columns are aligned in plain text, too.
func printTable(w io.Writer, rows []row) error {
	cells := [][]string{{"fleet", "assignments", "run", "seconds", "CPU seconds", "µs per assignment", "peak MB", "time compared"}}
	for _, r := range rows {
		cells = append(cells, []string{
			r.fleet, thousands(r.assignments), r.task,
			seconds(r.cost.wall), seconds(r.cost.cpu), fmt.Sprintf("%.1f", float64(r.cost.wall.Nanoseconds())/1e3/float64(r.assignments)),
			megabytes(r.cost.peak), r.compared,
		})
	}
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for i, line := range cells {
		writeLine(&b, line, widths)
		if i == 0 {
			writeRule(&b, widths)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// text tells the columns that are no numbers.
func text(column int) bool { return column == 0 || column == 2 || column == 7 }

func writeLine(b *strings.Builder, cells []string, widths []int) {
	for i, cell := range cells {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if text(i) {
			fmt.Fprintf(b, "| %s%s ", cell, pad)
		} else {
			fmt.Fprintf(b, "| %s%s ", pad, cell)
		}
	}
	b.WriteString("|\n")
}

func writeRule(b *strings.Builder, widths []int) {
	for i, width := range widths {
		dashes := strings.Repeat("-", width-1)
		if text(i) {
			fmt.Fprintf(b, "| -%s ", dashes)
		} else {
			fmt.Fprintf(b, "| %s: ", dashes)
		}
	}
	b.WriteString("|\n")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()) }

func megabytes(bytes int64) string {
	if bytes == 0 {
		return "?"
	}
	return fmt.Sprintf("%.0f", float64(bytes)/1e6)
}

// thousands writes a number with commas.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
