"""The commands of the command line, one module each: SUMMARY, EXAMPLES, add_options(parser) and run(arguments).

`shared` has what several of them use.
"""
