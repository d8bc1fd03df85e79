"""Stories, characters and lorebooks in the files of other programs: read here, and written."""
