"""The rules, one small function each: a situation goes in, an insight or nothing comes out."""
