package message

import "os"

// share is all if long tables are to be tried row by row, as make ci-full does, else few.
func share(few, all int) int {
	if os.Getenv("KALYPSO_WHOLE_MATRIX") != "" {
		return all
	}
	return few
}
