package message

import "os"

// share returns all if KALYPSO_WHOLE_MATRIX is set, as make ci-full does, else few.
func share(few, all int) int {
	if os.Getenv("KALYPSO_WHOLE_MATRIX") != "" {
		return all
	}
	return few
}
