"""Versions of models, bundles, imports and exports of runs, and the Hugging Face Hub."""
