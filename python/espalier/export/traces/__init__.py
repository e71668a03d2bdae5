"""Recorded trees as token trees with advantages, for reinforcement learning."""
