"""The fast engine: acts and learns in NumPy, directly on the weights of Stable-Baselines3 policies.

For small networks, torch spends most of its time on overhead. Here a gradient step is a few
dozen NumPy calls; saved models, playing and evaluation remain plain Stable-Baselines3.

Arrays have one column per observation: `(outputs, inputs) @ (inputs, batch)`.
"""
