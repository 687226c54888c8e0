"""The fast engine: acts and learns in NumPy, on the very weights that Stable-Baselines3 saves.

On networks this small torch spends most of its time on bookkeeping. Here a gradient step is a
few dozen NumPy calls; what is saved, loaded, played and evaluated stays plain Stable-Baselines3.

Arrays have one column per observation: `(outputs, inputs) @ (inputs, batch)`.
"""
