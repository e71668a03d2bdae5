"""The commands of the command line, one module each: SUMMARY, EXAMPLES (whole lines, none if it has subcommands),
add_options(parser), and run(arguments), which returns the exit code.

`shared` has what several of them use.
"""
