"""
The command line, one file a verb.

No decision lives here: a verb reads its arguments and files, calls the packages below, prints.
Data goes to stdout, everything else to stderr. Exit codes: 0 nothing to say, 1 problems,
64 a wrong command line.
"""
