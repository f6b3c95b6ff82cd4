"""The exit codes of every verb; 0 means success."""

PROBLEMS = 1
NOT_CONFIRMED = 2  # nothing was changed: it was declined, or there was no terminal to ask on
WRONG_USAGE = 64  # EX_USAGE of sysexits.h
KILLED_BY = 128  # plus the number of the signal, as shells report it
