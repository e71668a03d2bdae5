"""Attacks on an installed package; benchmarks/attack.py runs them."""
