"""What stands between the compiled part and Python."""
