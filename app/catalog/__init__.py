"""What can be trained on and with: environments, algorithms, presets, a glossary."""
