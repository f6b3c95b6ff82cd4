"""The exit codes of every verb; 0 means success."""

PROBLEMS = 1
WRONG_USAGE = 64  # EX_USAGE of sysexits.h
KILLED_BY = 128  # plus the number of the signal, as shells report it
