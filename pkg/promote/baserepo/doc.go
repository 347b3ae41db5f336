// Package baserepo changes the commit of a BaseRepo in the file that people wrote, and nothing else in it.
//
// In: the bytes of a YAML file and a BaseRepo as package model has found it there. Out: bytes in which one value
// differs; comments, order, layout, line endings and other documents stay. What comes out is read again and compared
// before it is returned, so what cannot be done surely is an EditError that says what to write by hand.
package baserepo
