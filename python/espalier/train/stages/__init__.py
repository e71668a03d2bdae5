"""The stages of training, one a file."""
