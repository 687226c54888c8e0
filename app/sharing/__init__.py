"""Take runs along: versions of their models, bundles, exports, the Hugging Face Hub."""
