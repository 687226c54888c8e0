"""The vocabulary of the lab: plain frozen values that every layer may pass around."""
