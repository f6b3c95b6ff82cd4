"""The exit codes of every verb; 0 means that there is nothing to say."""

PROBLEMS = 1
WRONG_USAGE = 64  # the code of sysexits.h for a wrong command line
KILLED_BY = 128  # plus the number of the signal, as shells have it
