package main

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/width"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

const (
	// maxMessageColumns is how much of a stranger's message a line shows where nothing else bounds it.
	maxMessageColumns = 500
	// maxMessageBytes is how much of a message is looked at.
	maxMessageBytes = 8 << 10
)

// lineOf makes a line of a stranger's text that is harmless to show and at most so many columns wide.
// Line breaks become blanks.
func lineOf(text string, columns int) string {
	return wordOf(strings.Join(strings.Fields(beginning(text, maxMessageBytes)), " "), columns)
}

// wordOf is lineOf for names, which are shown as they are.
func wordOf(text string, columns int) string {
	return cut(diag.Safe(beginning(text, utf8.UTFMax*(columns+1))), columns) // what is beyond it cannot be shown
}

// beginning is at most so many bytes of a text. No character is torn.
func beginning(text string, size int) string {
	if len(text) <= size {
		return text
	}
	end := size
	for end > 0 && end > size-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// cut shortens a text to so many columns; an ellipsis stands for what is left out.
func cut(text string, columns int) string {
	if columns <= 0 {
		return ""
	}
	used, keep := 0, 0 // keep is where the text ends if the ellipsis is needed
	for i, r := range text {
		if used < columns {
			keep = i
		}
		if used += columnsOfRune(r); used > columns {
			return text[:keep] + "…"
		}
	}
	return text
}

// columnsOf is how many columns of a terminal a text takes. Marks that stand on the character before count too:
// terminals do not agree about them, and a line must rather be too short than wrap.
func columnsOf(text string) int {
	n := 0
	for _, r := range text {
		n += columnsOfRune(r)
	}
	return n
}

// columnsOfRune is as UAX 11 has it.
func columnsOfRune(r rune) int {
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}
