"""Tests that try to break the decision service, from outside, over HTTP."""
