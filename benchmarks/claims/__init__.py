"""The claims of the four papers as experiments. `python -m claims` runs them."""
