"""Vectorized environments; those of classic control give exactly Gymnasium's results."""
