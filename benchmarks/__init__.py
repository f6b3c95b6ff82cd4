"""
How fast it is, printed: `python -m benchmarks`.

One module a subject. Figures are CPU time, compared with a peer or a limit within the same run;
nothing here fails because something was slow.
"""
