"""Check what users uploaded: environments, rewards, images."""
