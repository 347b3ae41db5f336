package render

import "os"

// thorough reports whether long tables are to be tried row by row, as make ci-full does.
func thorough() bool { return os.Getenv("KALYPSO_WHOLE_MATRIX") != "" }

// share is all if long tables are to be tried row by row, else few.
func share(few, all int) int {
	if thorough() {
		return all
	}
	return few
}
